-- Statistics of raw durations, beside those that a record states.
list_avg(durations_ns) / 1e9 AS derived_latency_mean_s,
middle_s(durations_ns, round_iterations, round_medians) AS derived_latency_median_s,
list_min(durations_ns) / 1e9 AS derived_latency_min_s,
list_max(durations_ns) / 1e9 AS derived_latency_max_s,
list_sum(durations_ns) / 1e9 AS derived_steady_time_s,
list_stddev_samp(durations_ns) / 1e9 AS derived_latency_stddev_s,
list_median(durations_ns) / 1e9 AS derived_latency_p50_s,
CASE WHEN len(durations_ns) >= 64
    THEN list_aggregate(durations_ns, 'quantile_cont', 0.9) / 1e9 END AS derived_latency_p90_s,
CASE WHEN len(durations_ns) >= 130
    THEN list_aggregate(durations_ns, 'quantile_cont', 0.95) / 1e9 END AS derived_latency_p95_s,
CASE WHEN len(durations_ns) >= 662
    THEN list_aggregate(durations_ns, 'quantile_cont', 0.99) / 1e9 END AS derived_latency_p99_s,
CASE WHEN len(durations_ns) >= 6636
    THEN list_aggregate(durations_ns, 'quantile_cont', 0.999) / 1e9 END AS derived_latency_p999_s,
list_avg(part_durations_ns['first_token']) / 1e9 AS derived_time_to_first_token_mean_s,
middle_s(part_durations_ns['first_token'], round_iterations, round_medians)
    AS derived_time_to_first_token_median_s,
list_avg(per_output_token(durations_ns, part_durations_ns['first_token'], new_tokens))
    / 1e9 AS derived_time_per_output_token_mean_s,
middle_s(
    per_output_token(durations_ns, part_durations_ns['first_token'], new_tokens),
    round_iterations, round_medians
) AS derived_time_per_output_token_median_s,
list_avg(part_durations_ns['output_token']) / 1e9 AS derived_inter_token_latency_mean_s,
list_median(part_durations_ns['output_token']) / 1e9 AS derived_inter_token_latency_median_s,
list_avg(part_durations_ns['forward']) / 1e9 AS derived_forward_mean_s,
list_median(part_durations_ns['forward']) / 1e9 AS derived_forward_median_s,
list_avg(part_durations_ns['loss']) / 1e9 AS derived_loss_mean_s,
list_median(part_durations_ns['loss']) / 1e9 AS derived_loss_median_s,
list_avg(part_durations_ns['backward']) / 1e9 AS derived_backward_mean_s,
list_median(part_durations_ns['backward']) / 1e9 AS derived_backward_median_s,
list_avg(part_durations_ns['optimizer']) / 1e9 AS derived_optimizer_mean_s,
list_median(part_durations_ns['optimizer']) / 1e9 AS derived_optimizer_median_s,
list_median(part_durations_ns['interpreter']) / 1e9 AS derived_startup_warm_interpreter_median_s,
list_median(part_durations_ns['import']) / 1e9 AS derived_startup_warm_import_median_s,
list_median(part_durations_ns['instantiate']) / 1e9 AS derived_startup_warm_instantiate_median_s,
list_median(part_durations_ns['weights']) / 1e9 AS derived_startup_warm_weights_median_s,
list_median(part_durations_ns['first_query']) / 1e9 AS derived_startup_warm_first_query_median_s,
list_median(part_durations_ns['service']) / 1e9 AS derived_service_median_s
