-- Ratios of ours follow from other columns of the same row; docs/measuring.md defines them.
SELECT * FROM (
    SELECT row_id, subject, source, contradictions([
            pair(latency_cv, expected_latency_cv),
            pair(latency_precision, expected_latency_precision),
            pair(energy_per_sample_joules, expected_energy_per_sample_joules),
            pair(energy_per_token_joules, expected_energy_per_token_joules),
            pair(concurrent_models_per_second, expected_concurrent_models_per_second)
        ], source) AS fault
    FROM (
        SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
            r.latency_cv,
            r.latency_stddev_s / r.latency_mean_s AS expected_latency_cv,
            r.latency_precision,
            (r.latency_median_high_s - r.latency_median_low_s) / 2 / r.latency_median_s
                AS expected_latency_precision,
            r.energy_per_sample_joules,
            r.energy_joules / (r.batch_size * r.iterations)
                AS expected_energy_per_sample_joules,
            r.energy_per_token_joules,
            r.energy_joules / (r.batch_size * r.iterations * r.new_tokens)
                AS expected_energy_per_token_joules,
            r.concurrent_models_per_second,
            r.concurrent_workers / r.concurrent_time_s
                AS expected_concurrent_models_per_second
        FROM benchmark_results r WHERE is_ours(r.source)
    )
    WHERE differs(latency_cv, expected_latency_cv)
        OR differs(latency_precision, expected_latency_precision)
        OR differs(energy_per_sample_joules, expected_energy_per_sample_joules)
        OR differs(energy_per_token_joules, expected_energy_per_token_joules)
        OR differs(concurrent_models_per_second, expected_concurrent_models_per_second)
)
WHERE fault <> ''
