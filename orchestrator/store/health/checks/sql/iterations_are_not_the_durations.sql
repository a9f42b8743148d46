SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'iterations is ' || coalesce(r.iterations::VARCHAR, 'null') || ', durations ' || d.n AS fault
FROM benchmark_results r
JOIN (
    SELECT result_id, len(durations_ns) AS n FROM raw_benchmark_data
    WHERE durations_ns IS NOT NULL
) d USING (result_id)
WHERE r.iterations IS DISTINCT FROM d.n
    AND (r.iterations IS NOT NULL OR (is_ours(r.source) AND r.status = 'ok'))
