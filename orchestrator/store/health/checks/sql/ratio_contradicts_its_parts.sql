-- Ratios of ours follow from other columns of the same row; docs/measuring.md defines them.
SELECT contradictions([
    pair(r.latency_cv, r.latency_stddev_s / r.latency_mean_s),
    pair(
        r.latency_precision,
        (r.latency_median_high_s - r.latency_median_low_s) / 2 / r.latency_median_s
    ),
    pair(r.energy_per_sample_joules, r.energy_joules / (r.batch_size * r.iterations)),
    pair(
        r.energy_per_token_joules,
        r.energy_joules / (r.batch_size * r.iterations * r.new_tokens)
    ),
    pair(r.concurrent_models_per_second, r.concurrent_workers / r.concurrent_time_s)
], r.source) AS fault
FROM records r
WHERE is_ours(r.source) AND (
    differs(r.latency_cv, r.latency_stddev_s / r.latency_mean_s)
    OR differs(
        r.latency_precision,
        (r.latency_median_high_s - r.latency_median_low_s) / 2 / r.latency_median_s
    )
    OR differs(r.energy_per_sample_joules, r.energy_joules / (r.batch_size * r.iterations))
    OR differs(
        r.energy_per_token_joules, r.energy_joules / (r.batch_size * r.iterations * r.new_tokens)
    )
    OR differs(r.concurrent_models_per_second, r.concurrent_workers / r.concurrent_time_s)
)
