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
