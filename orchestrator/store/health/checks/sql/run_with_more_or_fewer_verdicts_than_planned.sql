SELECT u.rowid AS row_id, u.run_id AS subject, NULL AS source,
    coalesce(verdicts, 0) || ' verdicts, ' || u.planned || ' planned' AS fault
FROM benchmark_runs u
LEFT JOIN (
    SELECT run_id, count(*) AS verdicts FROM benchmark_results GROUP BY run_id
) USING (run_id)
WHERE u.planned <> coalesce(verdicts, 0)
