-- Counted work at more than 1.2 times the highest peak measured on the machine: up to there noise
-- explains it, beyond it other work lay beside the peaks, or the model is not the one counted.
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    e.part || ' reaches ' || round(greatest(coalesce(e.mfu, 0), coalesce(e.mbu, 0)), 2)
        || ' times the peak of ' || CASE WHEN coalesce(e.mfu, 0) >= coalesce(e.mbu, 0)
            THEN 'arithmetic' ELSE 'copies' END AS fault
FROM efficiency e JOIN benchmark_results r USING (result_id)
WHERE e.mfu > 1.2 OR e.mbu > 1.2
