SELECT * FROM (
    SELECT u.rowid AS row_id, u.run_id AS subject, NULL AS source, first_at, last_at,
        CASE WHEN u.started_at > latest_moment()
            THEN 'begins in the future, ' || u.started_at::VARCHAR
        WHEN u.finished_at > latest_moment()
            THEN 'ends in the future, ' || u.finished_at::VARCHAR
        WHEN u.finished_at < u.started_at
            THEN 'ends before it begins'
        WHEN u.started_at > first_at + INTERVAL 1 MINUTE
            THEN 'begins after its first record, of ' || first_at::VARCHAR
        END AS fault
    FROM benchmark_runs u
    LEFT JOIN (
        SELECT run_id, min(recorded_at) AS first_at, max(recorded_at) AS last_at
        FROM benchmark_results WHERE recorded_at <= latest_moment() GROUP BY run_id
    ) USING (run_id)
)
WHERE fault IS NOT NULL
