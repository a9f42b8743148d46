SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'hardware_id ' || r.hardware_id || ' is not in hardware_info' AS fault
FROM benchmark_results r
WHERE r.hardware_id IS NOT NULL
    AND r.hardware_id NOT IN (SELECT hardware_id FROM hardware_info)
