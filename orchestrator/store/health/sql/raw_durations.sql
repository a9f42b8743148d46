-- check: iterations are not the durations
-- remedy: `--fix` derives them where the durations are this result's, and takes out the rest
-- table: benchmark_results
-- timed
SELECT 'iterations is ' || coalesce(r.iterations::VARCHAR, 'null')
    || ', durations ' || len(r.durations_ns) AS fault
FROM records r
WHERE r.iterations IS DISTINCT FROM len(r.durations_ns) AND r.durations_ns IS NOT NULL
    AND (r.iterations IS NOT NULL OR (is_ours(r.source) AND r.status = 'ok'))

-- repair: iterations are not the durations
UPDATE benchmark_results r SET iterations = len(d.durations_ns)
FROM ({derived}) d
WHERE r.rowid = d.row_id AND {ours} AND {recognised}

-- check: statistics contradict raw durations
-- remedy: `--fix` derives them where the durations are this result's, and takes out the rest
-- table: benchmark_results
-- timed
-- Statistics of the raw durations. Others may compute deviations and percentiles otherwise, so
-- those are checked in rows of ours alone; a percentile has as many durations as it needs. Where
-- arrivals set the pace, durations do not add up to the time.
SELECT contradictions([
    needed_pair(r.latency_mean_s, r.derived_latency_mean_s, r.needed),
    needed_pair(r.latency_median_s, r.derived_latency_median_s, r.needed),
    needed_pair(r.latency_min_s, r.derived_latency_min_s, r.needed),
    needed_pair(r.latency_max_s, r.derived_latency_max_s, r.needed),
    pair(r.latency_stddev_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_stddev_s END),
    pair(r.latency_p50_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_p50_s END),
    pair(r.latency_p90_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_p90_s END),
    pair(r.latency_p95_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_p95_s END),
    pair(r.latency_p99_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_p99_s END),
    pair(r.latency_p999_s, CASE WHEN is_ours(r.source) THEN r.derived_latency_p999_s END),
    needed_pair(
        r.steady_time_s,
        CASE WHEN r.scenario <> 'server' THEN r.derived_steady_time_s END,
        r.needed
    )
], r.source) AS fault
FROM records r
WHERE differs(r.latency_mean_s, r.derived_latency_mean_s)
    OR differs(r.latency_median_s, r.derived_latency_median_s)
    OR differs(r.latency_min_s, r.derived_latency_min_s)
    OR differs(r.latency_max_s, r.derived_latency_max_s)
    OR (is_ours(r.source) AND (
        differs(r.latency_stddev_s, r.derived_latency_stddev_s)
        OR differs(r.latency_p50_s, r.derived_latency_p50_s)
        OR differs(r.latency_p90_s, r.derived_latency_p90_s)
        OR differs(r.latency_p95_s, r.derived_latency_p95_s)
        OR differs(r.latency_p99_s, r.derived_latency_p99_s)
        OR differs(r.latency_p999_s, r.derived_latency_p999_s)
    ))
    OR (r.scenario <> 'server' AND differs(r.steady_time_s, r.derived_steady_time_s))
    OR (r.needed AND (
        (r.latency_mean_s IS NULL AND r.derived_latency_mean_s IS NOT NULL)
        OR (r.latency_median_s IS NULL AND r.derived_latency_median_s IS NOT NULL)
        OR (r.latency_min_s IS NULL AND r.derived_latency_min_s IS NOT NULL)
        OR (r.latency_max_s IS NULL AND r.derived_latency_max_s IS NOT NULL)
        OR (r.scenario <> 'server'
            AND r.steady_time_s IS NULL AND r.derived_steady_time_s IS NOT NULL)
    ))

-- repair: statistics contradict raw durations
UPDATE benchmark_results r SET
    latency_mean_s = derived_or_gap(r.latency_mean_s, d.derived_latency_mean_s),
    latency_median_s = derived_or_gap(r.latency_median_s, d.derived_latency_median_s),
    latency_min_s = derived_or_gap(r.latency_min_s, d.derived_latency_min_s),
    latency_max_s = derived_or_gap(r.latency_max_s, d.derived_latency_max_s),
    latency_stddev_s = derived(r.latency_stddev_s, d.derived_latency_stddev_s),
    latency_p50_s = derived(r.latency_p50_s, d.derived_latency_p50_s),
    latency_p90_s = derived(r.latency_p90_s, d.derived_latency_p90_s),
    latency_p95_s = derived(r.latency_p95_s, d.derived_latency_p95_s),
    latency_p99_s = derived(r.latency_p99_s, d.derived_latency_p99_s),
    latency_p999_s = derived(r.latency_p999_s, d.derived_latency_p999_s),
    steady_time_s = CASE WHEN r.scenario <> 'server'
        THEN derived_or_gap(r.steady_time_s, d.derived_steady_time_s)
        ELSE r.steady_time_s END
FROM ({derived}) d
WHERE r.rowid = d.row_id AND {ours} AND {recognised}
