SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'run_id ' || r.run_id || ' is not in benchmark_runs' AS fault
FROM benchmark_results r
WHERE r.run_id NOT IN (SELECT run_id FROM benchmark_runs)
