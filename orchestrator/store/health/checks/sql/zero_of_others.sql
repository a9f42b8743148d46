-- Columns that an import fills and that nothing measured leaves at zero.
SELECT concat_ws(', ',
    zero(r.iterations),
    zero(r.first_latency_s),
    zero(r.steady_time_s),
    zero(r.latency_mean_s),
    zero(r.latency_median_s),
    zero(r.latency_p50_s),
    zero(r.latency_p90_s),
    zero(r.latency_p95_s),
    zero(r.latency_p99_s),
    zero(r.latency_p999_s),
    zero(r.time_to_first_token_mean_s),
    zero(r.time_per_output_token_mean_s),
    zero(r.inter_token_latency_mean_s),
    zero(r.latency_min_s),
    zero(r.latency_max_s),
    zero(r.throughput),
    zero(r.token_throughput),
    zero(r.decode_throughput),
    zero(r.memory_peak_bytes),
    zero(r.memory_average_bytes),
    zero(r.energy_joules),
    zero(r.energy_per_sample_joules),
    CASE WHEN list_min(r.durations_ns) = 0 THEN 'a raw duration is 0' END
) AS fault
FROM records r
WHERE NOT is_ours(r.source) AND (
    least(
        r.iterations, r.first_latency_s, r.steady_time_s, r.latency_mean_s, r.latency_median_s,
        r.latency_p50_s, r.latency_p90_s, r.latency_p95_s, r.latency_p99_s, r.latency_p999_s,
        r.time_to_first_token_mean_s, r.time_per_output_token_mean_s, r.latency_min_s,
        r.inter_token_latency_mean_s,
        r.latency_max_s, r.throughput, r.token_throughput, r.decode_throughput,
        r.memory_peak_bytes, r.memory_average_bytes, r.energy_joules, r.energy_per_sample_joules
    ) = 0
    OR list_min(r.durations_ns) = 0
)
