-- Models in the words of their newest results, which do not hold `model_spec`.
INSERT INTO models BY NAME
SELECT model_id, arg_max(model, recorded_at) AS model, arg_max(family, recorded_at) AS family,
    arg_max(task, recorded_at) AS task, arg_max(modality, recorded_at) AS modality,
    NULL AS model_spec, min(recorded_at) AS seen_at
FROM benchmark_results r
WHERE r.rowid IN (SELECT row_id FROM wrong)
GROUP BY model_id
