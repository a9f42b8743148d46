SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'model_id ' || r.model_id || ' is not in models' AS fault
FROM benchmark_results r
WHERE r.model_id IS NOT NULL AND r.model_id NOT IN (SELECT model_id FROM models)
