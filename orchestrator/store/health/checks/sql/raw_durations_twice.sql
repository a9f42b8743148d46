-- All but the row that agrees best with the newest result.
WITH twice AS (
    SELECT result_id FROM raw_benchmark_data GROUP BY result_id HAVING count(*) > 1
)
SELECT d.rowid AS row_id, d.result_id AS subject, r.source,
    len(d.durations_ns) || ' durations' AS fault
FROM raw_benchmark_data d
LEFT JOIN (
    SELECT result_id, any_value(source) AS source,
        arg_max(iterations, recorded_at) AS iterations,
        arg_max(latency_mean_s, recorded_at) AS mean_s
    FROM benchmark_results WHERE result_id IN (FROM twice) GROUP BY result_id
) r USING (result_id)
WHERE d.result_id IN (FROM twice)
QUALIFY row_number() OVER (
    PARTITION BY d.result_id
    ORDER BY (len(d.durations_ns) = r.iterations) DESC NULLS LAST,
        abs(list_avg(d.durations_ns) / 1e9 - r.mean_s) NULLS LAST,
        d.rowid DESC
) > 1
