-- Statistics of the parts of an iteration: tokens, training, start-up, service.
SELECT * FROM (
    SELECT r.rowid AS row_id, r.result_id AS subject, r.source, contradictions([
            pair(r.time_to_first_token_mean_s, d.time_to_first_token_mean_s),
            pair(r.time_to_first_token_median_s, d.time_to_first_token_median_s),
            pair(r.time_per_output_token_mean_s, d.time_per_output_token_mean_s),
            pair(r.time_per_output_token_median_s, d.time_per_output_token_median_s),
            pair(r.forward_mean_s, d.forward_mean_s),
            pair(r.forward_median_s, d.forward_median_s),
            pair(r.loss_mean_s, d.loss_mean_s),
            pair(r.loss_median_s, d.loss_median_s),
            pair(r.backward_mean_s, d.backward_mean_s),
            pair(r.backward_median_s, d.backward_median_s),
            pair(r.optimizer_mean_s, d.optimizer_mean_s),
            pair(r.optimizer_median_s, d.optimizer_median_s),
            pair(r.startup_interpreter_mean_s, d.startup_interpreter_mean_s),
            pair(r.startup_import_mean_s, d.startup_import_mean_s),
            pair(r.startup_instantiate_mean_s, d.startup_instantiate_mean_s),
            pair(r.startup_weights_mean_s, d.startup_weights_mean_s),
            pair(r.startup_first_query_mean_s, d.startup_first_query_mean_s),
            pair(r.service_median_s, d.service_median_s)
        ], r.source) AS fault
    FROM benchmark_results r
    JOIN (
        SELECT result_id,
            list_avg(part_durations_ns['first_token']) / 1e9 AS time_to_first_token_mean_s,
            list_median(part_durations_ns['first_token']) / 1e9 AS time_to_first_token_median_s,
            list_avg(part_durations_ns['output_token']) / 1e9 AS time_per_output_token_mean_s,
            list_median(part_durations_ns['output_token']) / 1e9
                AS time_per_output_token_median_s,
            list_avg(part_durations_ns['forward']) / 1e9 AS forward_mean_s,
            list_median(part_durations_ns['forward']) / 1e9 AS forward_median_s,
            list_avg(part_durations_ns['loss']) / 1e9 AS loss_mean_s,
            list_median(part_durations_ns['loss']) / 1e9 AS loss_median_s,
            list_avg(part_durations_ns['backward']) / 1e9 AS backward_mean_s,
            list_median(part_durations_ns['backward']) / 1e9 AS backward_median_s,
            list_avg(part_durations_ns['optimizer']) / 1e9 AS optimizer_mean_s,
            list_median(part_durations_ns['optimizer']) / 1e9 AS optimizer_median_s,
            list_avg(part_durations_ns['interpreter']) / 1e9 AS startup_interpreter_mean_s,
            list_avg(part_durations_ns['import']) / 1e9 AS startup_import_mean_s,
            list_avg(part_durations_ns['instantiate']) / 1e9 AS startup_instantiate_mean_s,
            list_avg(part_durations_ns['weights']) / 1e9 AS startup_weights_mean_s,
            list_avg(part_durations_ns['first_query']) / 1e9 AS startup_first_query_mean_s,
            list_median(part_durations_ns['service']) / 1e9 AS service_median_s
        FROM raw_benchmark_data WHERE part_durations_ns IS NOT NULL
    ) d USING (result_id)
    WHERE differs(r.time_to_first_token_mean_s, d.time_to_first_token_mean_s)
        OR differs(r.time_to_first_token_median_s, d.time_to_first_token_median_s)
        OR differs(r.time_per_output_token_mean_s, d.time_per_output_token_mean_s)
        OR differs(r.time_per_output_token_median_s, d.time_per_output_token_median_s)
        OR differs(r.forward_mean_s, d.forward_mean_s)
        OR differs(r.forward_median_s, d.forward_median_s)
        OR differs(r.loss_mean_s, d.loss_mean_s)
        OR differs(r.loss_median_s, d.loss_median_s)
        OR differs(r.backward_mean_s, d.backward_mean_s)
        OR differs(r.backward_median_s, d.backward_median_s)
        OR differs(r.optimizer_mean_s, d.optimizer_mean_s)
        OR differs(r.optimizer_median_s, d.optimizer_median_s)
        OR differs(r.startup_interpreter_mean_s, d.startup_interpreter_mean_s)
        OR differs(r.startup_import_mean_s, d.startup_import_mean_s)
        OR differs(r.startup_instantiate_mean_s, d.startup_instantiate_mean_s)
        OR differs(r.startup_weights_mean_s, d.startup_weights_mean_s)
        OR differs(r.startup_first_query_mean_s, d.startup_first_query_mean_s)
        OR differs(r.service_median_s, d.service_median_s)
)
WHERE fault <> ''
