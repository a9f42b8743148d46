SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'proof ' || r.proof AS fault
FROM benchmark_results r
WHERE r.source = 'accelmatrix' AND r.status = 'ok' AND r.proof <> 'proven'
