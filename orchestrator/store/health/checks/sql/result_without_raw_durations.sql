SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'nothing can show how its statistics came about' AS fault
FROM benchmark_results r
ANTI JOIN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL) d
    USING (result_id)
WHERE is_ours(r.source) AND r.latency_median_s IS NOT NULL
