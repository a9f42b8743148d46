-- Ours lack a latency where one was to be measured; others' lack every number.
SELECT 'no latency, no throughput' AS fault
FROM records r
WHERE r.status = 'ok'
    AND CASE WHEN is_ours(r.source)
        THEN r.purpose IN ('measure', 'time') AND r.latency_median_s IS NULL
        ELSE coalesce(
            r.latency_median_s, r.latency_mean_s, r.throughput, r.token_throughput,
            r.decode_throughput, r.latency_min_s, r.latency_p50_s, r.time_to_first_token_mean_s,
            r.first_latency_s, r.load_time_s, r.memory_peak_bytes, r.memory_average_bytes,
            r.memory_device_peak_bytes
        ) IS NULL
        END
