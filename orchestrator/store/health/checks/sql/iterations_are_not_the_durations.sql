SELECT 'iterations is ' || coalesce(r.iterations::VARCHAR, 'null')
    || ', durations ' || len(r.durations_ns) AS fault
FROM records r
WHERE r.iterations IS DISTINCT FROM len(r.durations_ns) AND r.durations_ns IS NOT NULL
    AND (r.iterations IS NOT NULL OR (is_ours(r.source) AND r.status = 'ok'))
