SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'measured ' || r.source_measured_at::VARCHAR AS fault
FROM benchmark_results r
WHERE r.source_measured_at > latest_moment()
