SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'simulated' AS fault
FROM benchmark_results r
WHERE r.source = 'accelmatrix' AND r.simulated
