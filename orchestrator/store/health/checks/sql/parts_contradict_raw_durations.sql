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
