-- Only if one of the result's statistics at least is one of these durations.
UPDATE benchmark_results r SET
    latency_mean_s = derived_or_gap(r.latency_mean_s, d.latency_mean_s),
    latency_median_s = derived_or_gap(r.latency_median_s, d.latency_median_s),
    latency_min_s = derived_or_gap(r.latency_min_s, d.latency_min_s),
    latency_max_s = derived_or_gap(r.latency_max_s, d.latency_max_s),
    latency_stddev_s = derived(r.latency_stddev_s, d.latency_stddev_s),
    latency_p50_s = derived(r.latency_p50_s, d.latency_p50_s),
    latency_p90_s = derived(r.latency_p90_s, d.latency_p90_s),
    latency_p95_s = derived(r.latency_p95_s, d.latency_p95_s),
    latency_p99_s = derived(r.latency_p99_s, d.latency_p99_s),
    latency_p999_s = derived(r.latency_p999_s, d.latency_p999_s),
    steady_time_s = CASE WHEN r.scenario <> 'server'
        THEN derived_or_gap(r.steady_time_s, d.steady_time_s)
        ELSE r.steady_time_s END
FROM (
    SELECT result_id,
        list_avg(durations_ns) / 1e9 AS latency_mean_s,
        middle_s(durations_ns, round_iterations, round_medians) AS latency_median_s,
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
            THEN list_aggregate(durations_ns, 'quantile_cont', 0.999) / 1e9 END AS latency_p999_s
    FROM raw_benchmark_data
    LEFT JOIN (SELECT result_id, round_iterations, round_medians FROM benchmark_results)
        USING (result_id)
    WHERE len(durations_ns) > 0
) d
WHERE r.result_id = d.result_id
    AND (
        NOT differs(r.latency_mean_s, d.latency_mean_s)
        OR NOT differs(r.latency_median_s, d.latency_median_s)
        OR NOT differs(r.latency_min_s, d.latency_min_s)
        OR NOT differs(r.latency_max_s, d.latency_max_s)
        OR NOT differs(r.steady_time_s, d.steady_time_s)
    )
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))
