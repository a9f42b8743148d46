SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'recorded ' || r.recorded_at::VARCHAR AS fault
FROM benchmark_results r
WHERE r.recorded_at > latest_moment()
