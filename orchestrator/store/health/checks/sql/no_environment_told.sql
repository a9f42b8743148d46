SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'environment_id is null' AS fault
FROM benchmark_results r
WHERE r.environment_id IS NULL AND r.status = 'ok' AND is_ours(r.source)
