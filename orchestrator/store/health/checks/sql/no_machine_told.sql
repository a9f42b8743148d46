SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'hardware_id is null' AS fault
FROM benchmark_results r
WHERE r.hardware_id IS NULL AND r.status = 'ok' AND is_ours(r.source)
