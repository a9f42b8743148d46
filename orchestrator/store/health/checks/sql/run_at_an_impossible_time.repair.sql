UPDATE benchmark_runs u SET started_at = first_at, finished_at = last_at
FROM wrong w
WHERE u.rowid = w.row_id AND first_at IS NOT NULL
