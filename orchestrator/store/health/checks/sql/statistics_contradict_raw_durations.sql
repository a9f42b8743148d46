-- Statistics of the raw durations. Others may compute deviations and percentiles otherwise, so
-- those are checked in rows of ours alone; a percentile has as many durations as it needs. Where
-- arrivals set the pace, durations do not add up to the time.
SELECT * FROM (
    SELECT r.rowid AS row_id, r.result_id AS subject, r.source, contradictions([
            needed_pair(r.latency_mean_s, d.latency_mean_s, needed),
            needed_pair(r.latency_median_s, d.latency_median_s, needed),
            needed_pair(r.latency_min_s, d.latency_min_s, needed),
            needed_pair(r.latency_max_s, d.latency_max_s, needed),
            pair(r.latency_stddev_s, CASE WHEN is_ours(r.source) THEN d.latency_stddev_s END),
            pair(r.latency_p50_s, CASE WHEN is_ours(r.source) THEN d.latency_p50_s END),
            pair(r.latency_p90_s, CASE WHEN is_ours(r.source) THEN d.latency_p90_s END),
            pair(r.latency_p95_s, CASE WHEN is_ours(r.source) THEN d.latency_p95_s END),
            pair(r.latency_p99_s, CASE WHEN is_ours(r.source) THEN d.latency_p99_s END),
            pair(r.latency_p999_s, CASE WHEN is_ours(r.source) THEN d.latency_p999_s END),
            needed_pair(
                r.steady_time_s,
                CASE WHEN r.scenario <> 'server' THEN d.steady_time_s END,
                needed
            )
        ], r.source) AS fault
    FROM (SELECT *, rowid, is_ours(source) AND status = 'ok' AS needed FROM benchmark_results) r
    JOIN (
        SELECT result_id,
            list_avg(durations_ns) / 1e9 AS latency_mean_s,
            list_median(durations_ns) / 1e9 AS latency_median_s,
            list_min(durations_ns) / 1e9 AS latency_min_s,
            list_max(durations_ns) / 1e9 AS latency_max_s,
            list_sum(durations_ns) / 1e9 AS steady_time_s,
            list_stddev_samp(durations_ns) / 1e9 AS latency_stddev_s,
            list_median(durations_ns) / 1e9 AS latency_p50_s,
            CASE WHEN len(durations_ns) >= 64
                THEN list_aggregate(durations_ns, 'quantile_cont', 0.9) / 1e9 END AS latency_p90_s,
            CASE WHEN len(durations_ns) >= 130
                THEN list_aggregate(durations_ns, 'quantile_cont', 0.95) / 1e9 END AS latency_p95_s,
            CASE WHEN len(durations_ns) >= 662
                THEN list_aggregate(durations_ns, 'quantile_cont', 0.99) / 1e9 END AS latency_p99_s,
            CASE WHEN len(durations_ns) >= 6636
                THEN list_aggregate(durations_ns, 'quantile_cont', 0.999) / 1e9 END
                AS latency_p999_s
        FROM raw_benchmark_data WHERE len(durations_ns) > 0
    ) d USING (result_id)
    WHERE differs(r.latency_mean_s, d.latency_mean_s)
        OR differs(r.latency_median_s, d.latency_median_s)
        OR differs(r.latency_min_s, d.latency_min_s)
        OR differs(r.latency_max_s, d.latency_max_s)
        OR (is_ours(r.source) AND (
            differs(r.latency_stddev_s, d.latency_stddev_s)
            OR differs(r.latency_p50_s, d.latency_p50_s)
            OR differs(r.latency_p90_s, d.latency_p90_s)
            OR differs(r.latency_p95_s, d.latency_p95_s)
            OR differs(r.latency_p99_s, d.latency_p99_s)
            OR differs(r.latency_p999_s, d.latency_p999_s)
        ))
        OR (r.scenario <> 'server' AND differs(r.steady_time_s, d.steady_time_s))
        OR (needed AND (
            (r.latency_mean_s IS NULL AND d.latency_mean_s IS NOT NULL)
            OR (r.latency_median_s IS NULL AND d.latency_median_s IS NOT NULL)
            OR (r.latency_min_s IS NULL AND d.latency_min_s IS NOT NULL)
            OR (r.latency_max_s IS NULL AND d.latency_max_s IS NOT NULL)
            OR (r.scenario <> 'server' AND r.steady_time_s IS NULL AND d.steady_time_s IS NOT NULL)
        ))
)
WHERE fault <> ''
