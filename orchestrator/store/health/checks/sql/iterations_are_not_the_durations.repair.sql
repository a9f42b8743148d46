-- Only if one of the result's statistics at least is one of these durations.
UPDATE benchmark_results r SET iterations = d.n
FROM (
    SELECT result_id, len(durations_ns) AS n,
        list_avg(durations_ns) / 1e9 AS latency_mean_s,
        middle_s(durations_ns, round_iterations, round_medians) AS latency_median_s,
        list_min(durations_ns) / 1e9 AS latency_min_s,
        list_max(durations_ns) / 1e9 AS latency_max_s,
        list_sum(durations_ns) / 1e9 AS steady_time_s
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
