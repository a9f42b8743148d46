SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'shown by benchmark_performance or failures' AS fault
FROM benchmark_results r
WHERE (NOT is_ours(r.source) OR r.simulated) AND r.source <> 'synthetic'
    AND r.result_id IN (
        SELECT result_id FROM benchmark_performance UNION SELECT result_id FROM failures)
