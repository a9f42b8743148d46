SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'environment_id ' || r.environment_id || ' is not in environments' AS fault
FROM benchmark_results r
WHERE r.environment_id IS NOT NULL
    AND r.environment_id NOT IN (SELECT environment_id FROM environments)
