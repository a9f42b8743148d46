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

-- check: parts contradict raw durations
-- remedy: `--fix` derives them where the durations are this result's, and takes out the rest
-- table: benchmark_results
-- timed
-- Statistics of the parts of an iteration: tokens, training, start-up, service.
SELECT contradictions([
    pair(r.time_to_first_token_mean_s, r.derived_time_to_first_token_mean_s),
    pair(r.time_to_first_token_median_s, r.derived_time_to_first_token_median_s),
    pair(r.time_per_output_token_mean_s, r.derived_time_per_output_token_mean_s),
    pair(r.inter_token_latency_mean_s, r.derived_inter_token_latency_mean_s),
    pair(r.time_per_output_token_median_s, r.derived_time_per_output_token_median_s),
    pair(r.inter_token_latency_median_s, r.derived_inter_token_latency_median_s),
    pair(r.forward_mean_s, r.derived_forward_mean_s),
    pair(r.forward_median_s, r.derived_forward_median_s),
    pair(r.loss_mean_s, r.derived_loss_mean_s),
    pair(r.loss_median_s, r.derived_loss_median_s),
    pair(r.backward_mean_s, r.derived_backward_mean_s),
    pair(r.backward_median_s, r.derived_backward_median_s),
    pair(r.optimizer_mean_s, r.derived_optimizer_mean_s),
    pair(r.optimizer_median_s, r.derived_optimizer_median_s),
    pair(r.startup_warm_interpreter_median_s, r.derived_startup_warm_interpreter_median_s),
    pair(r.startup_warm_import_median_s, r.derived_startup_warm_import_median_s),
    pair(r.startup_warm_instantiate_median_s, r.derived_startup_warm_instantiate_median_s),
    pair(r.startup_warm_weights_median_s, r.derived_startup_warm_weights_median_s),
    pair(r.startup_warm_first_query_median_s, r.derived_startup_warm_first_query_median_s),
    pair(r.service_median_s, r.derived_service_median_s)
], r.source) AS fault
FROM records r
WHERE differs(r.time_to_first_token_mean_s, r.derived_time_to_first_token_mean_s)
    OR differs(r.time_to_first_token_median_s, r.derived_time_to_first_token_median_s)
    OR differs(r.time_per_output_token_mean_s, r.derived_time_per_output_token_mean_s)
    OR differs(r.inter_token_latency_mean_s, r.derived_inter_token_latency_mean_s)
    OR differs(r.time_per_output_token_median_s, r.derived_time_per_output_token_median_s)
    OR differs(r.inter_token_latency_median_s, r.derived_inter_token_latency_median_s)
    OR differs(r.forward_mean_s, r.derived_forward_mean_s)
    OR differs(r.forward_median_s, r.derived_forward_median_s)
    OR differs(r.loss_mean_s, r.derived_loss_mean_s)
    OR differs(r.loss_median_s, r.derived_loss_median_s)
    OR differs(r.backward_mean_s, r.derived_backward_mean_s)
    OR differs(r.backward_median_s, r.derived_backward_median_s)
    OR differs(r.optimizer_mean_s, r.derived_optimizer_mean_s)
    OR differs(r.optimizer_median_s, r.derived_optimizer_median_s)
    OR differs(r.startup_warm_interpreter_median_s, r.derived_startup_warm_interpreter_median_s)
    OR differs(r.startup_warm_import_median_s, r.derived_startup_warm_import_median_s)
    OR differs(r.startup_warm_instantiate_median_s, r.derived_startup_warm_instantiate_median_s)
    OR differs(r.startup_warm_weights_median_s, r.derived_startup_warm_weights_median_s)
    OR differs(r.startup_warm_first_query_median_s, r.derived_startup_warm_first_query_median_s)
    OR differs(r.service_median_s, r.derived_service_median_s)

-- repair: parts contradict raw durations
UPDATE benchmark_results r SET
    time_to_first_token_mean_s
        = derived(r.time_to_first_token_mean_s, d.time_to_first_token_mean_s),
    time_to_first_token_median_s
        = derived(r.time_to_first_token_median_s, d.time_to_first_token_median_s),
    time_per_output_token_mean_s
        = derived(r.time_per_output_token_mean_s, d.time_per_output_token_mean_s),
    time_per_output_token_median_s
        = derived(r.time_per_output_token_median_s, d.time_per_output_token_median_s),
    inter_token_latency_mean_s
        = derived(r.inter_token_latency_mean_s, d.inter_token_latency_mean_s),
    inter_token_latency_median_s
        = derived(r.inter_token_latency_median_s, d.inter_token_latency_median_s),
    forward_mean_s = derived(r.forward_mean_s, d.forward_mean_s),
    forward_median_s = derived(r.forward_median_s, d.forward_median_s),
    loss_mean_s = derived(r.loss_mean_s, d.loss_mean_s),
    loss_median_s = derived(r.loss_median_s, d.loss_median_s),
    backward_mean_s = derived(r.backward_mean_s, d.backward_mean_s),
    backward_median_s = derived(r.backward_median_s, d.backward_median_s),
    optimizer_mean_s = derived(r.optimizer_mean_s, d.optimizer_mean_s),
    optimizer_median_s = derived(r.optimizer_median_s, d.optimizer_median_s),
    startup_warm_interpreter_median_s
        = derived(r.startup_warm_interpreter_median_s, d.startup_warm_interpreter_median_s),
    startup_warm_import_median_s = derived(r.startup_warm_import_median_s, d.startup_warm_import_median_s),
    startup_warm_instantiate_median_s
        = derived(r.startup_warm_instantiate_median_s, d.startup_warm_instantiate_median_s),
    startup_warm_weights_median_s = derived(r.startup_warm_weights_median_s, d.startup_warm_weights_median_s),
    startup_warm_first_query_median_s
        = derived(r.startup_warm_first_query_median_s, d.startup_warm_first_query_median_s),
    service_median_s = derived(r.service_median_s, d.service_median_s)
FROM (
    SELECT result_id,
        list_avg(part_durations_ns['first_token']) / 1e9 AS time_to_first_token_mean_s,
        middle_s(part_durations_ns['first_token'], round_iterations, round_medians)
            AS time_to_first_token_median_s,
        list_avg(per_output_token(durations_ns, part_durations_ns['first_token'], new_tokens))
            / 1e9 AS time_per_output_token_mean_s,
        middle_s(
            per_output_token(durations_ns, part_durations_ns['first_token'], new_tokens),
            round_iterations, round_medians
        ) AS time_per_output_token_median_s,
        list_avg(part_durations_ns['output_token']) / 1e9 AS inter_token_latency_mean_s,
        list_median(part_durations_ns['output_token']) / 1e9 AS inter_token_latency_median_s,
        list_avg(part_durations_ns['forward']) / 1e9 AS forward_mean_s,
        list_median(part_durations_ns['forward']) / 1e9 AS forward_median_s,
        list_avg(part_durations_ns['loss']) / 1e9 AS loss_mean_s,
        list_median(part_durations_ns['loss']) / 1e9 AS loss_median_s,
        list_avg(part_durations_ns['backward']) / 1e9 AS backward_mean_s,
        list_median(part_durations_ns['backward']) / 1e9 AS backward_median_s,
        list_avg(part_durations_ns['optimizer']) / 1e9 AS optimizer_mean_s,
        list_median(part_durations_ns['optimizer']) / 1e9 AS optimizer_median_s,
        list_median(part_durations_ns['interpreter']) / 1e9 AS startup_warm_interpreter_median_s,
        list_median(part_durations_ns['import']) / 1e9 AS startup_warm_import_median_s,
        list_median(part_durations_ns['instantiate']) / 1e9 AS startup_warm_instantiate_median_s,
        list_median(part_durations_ns['weights']) / 1e9 AS startup_warm_weights_median_s,
        list_median(part_durations_ns['first_query']) / 1e9 AS startup_warm_first_query_median_s,
        list_median(part_durations_ns['service']) / 1e9 AS service_median_s
    FROM raw_benchmark_data
    JOIN (
        SELECT result_id, new_tokens, round_iterations, round_medians FROM benchmark_results
    ) USING (result_id)
    WHERE part_durations_ns IS NOT NULL
) d
WHERE r.result_id = d.result_id
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))

-- check: rounds are not the iterations
-- remedy: `--fix` takes such results out
-- table: benchmark_results
SELECT r.rounds || if(r.rounds = 1, ' round of ', ' rounds of ')
        || array_to_string(r.round_iterations, ' + ')
        || ' iterations, ' || r.iterations || ' in all' AS fault
FROM records r
WHERE list_sum(r.round_iterations) <> r.iterations OR len(r.round_iterations) <> r.rounds
