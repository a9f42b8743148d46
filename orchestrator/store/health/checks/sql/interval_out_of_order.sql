-- A median and a percentile lie within their 95 % intervals.
SELECT disorder([
    pair(r.peak_qps_low, r.peak_qps),
    pair(r.peak_qps, r.peak_qps_high),
    pair(r.latency_median_low_s, r.latency_median_s),
    pair(r.latency_median_low_s, r.latency_median_high_s),
    pair(r.latency_median_s, r.latency_median_high_s),
    pair(r.time_to_first_token_median_low_s, r.time_to_first_token_median_s),
    pair(r.time_to_first_token_median_low_s, r.time_to_first_token_median_high_s),
    pair(r.time_to_first_token_median_s, r.time_to_first_token_median_high_s),
    pair(r.time_per_output_token_median_low_s, r.time_per_output_token_median_s),
    pair(r.time_per_output_token_median_low_s, r.time_per_output_token_median_high_s),
    pair(r.time_per_output_token_median_s, r.time_per_output_token_median_high_s),
    pair(r.latency_p90_low_s, r.latency_p90_s),
    pair(r.latency_p90_low_s, r.latency_p90_high_s),
    pair(r.latency_p90_s, r.latency_p90_high_s),
    pair(r.latency_p95_low_s, r.latency_p95_s),
    pair(r.latency_p95_low_s, r.latency_p95_high_s),
    pair(r.latency_p95_s, r.latency_p95_high_s),
    pair(r.latency_p99_low_s, r.latency_p99_s),
    pair(r.latency_p99_low_s, r.latency_p99_high_s),
    pair(r.latency_p99_s, r.latency_p99_high_s),
    pair(r.latency_p999_low_s, r.latency_p999_s),
    pair(r.latency_p999_low_s, r.latency_p999_high_s),
    pair(r.latency_p999_s, r.latency_p999_high_s),
    pair(r.time_to_first_token_p90_low_s, r.time_to_first_token_p90_s),
    pair(r.time_to_first_token_p90_low_s, r.time_to_first_token_p90_high_s),
    pair(r.time_to_first_token_p90_s, r.time_to_first_token_p90_high_s),
    pair(r.time_to_first_token_p95_low_s, r.time_to_first_token_p95_s),
    pair(r.time_to_first_token_p95_low_s, r.time_to_first_token_p95_high_s),
    pair(r.time_to_first_token_p95_s, r.time_to_first_token_p95_high_s),
    pair(r.time_to_first_token_p99_low_s, r.time_to_first_token_p99_s),
    pair(r.time_to_first_token_p99_low_s, r.time_to_first_token_p99_high_s),
    pair(r.time_to_first_token_p99_s, r.time_to_first_token_p99_high_s),
    pair(r.time_to_first_token_p999_low_s, r.time_to_first_token_p999_s),
    pair(r.time_to_first_token_p999_low_s, r.time_to_first_token_p999_high_s),
    pair(r.time_to_first_token_p999_s, r.time_to_first_token_p999_high_s),
    pair(r.time_per_output_token_p90_low_s, r.time_per_output_token_p90_s),
    pair(r.time_per_output_token_p90_low_s, r.time_per_output_token_p90_high_s),
    pair(r.time_per_output_token_p90_s, r.time_per_output_token_p90_high_s),
    pair(r.time_per_output_token_p95_low_s, r.time_per_output_token_p95_s),
    pair(r.time_per_output_token_p95_low_s, r.time_per_output_token_p95_high_s),
    pair(r.time_per_output_token_p95_s, r.time_per_output_token_p95_high_s),
    pair(r.time_per_output_token_p99_low_s, r.time_per_output_token_p99_s),
    pair(r.time_per_output_token_p99_low_s, r.time_per_output_token_p99_high_s),
    pair(r.time_per_output_token_p99_s, r.time_per_output_token_p99_high_s),
    pair(r.time_per_output_token_p999_low_s, r.time_per_output_token_p999_s),
    pair(r.time_per_output_token_p999_low_s, r.time_per_output_token_p999_high_s),
    pair(r.time_per_output_token_p999_s, r.time_per_output_token_p999_high_s),
    pair(r.inter_token_latency_p90_low_s, r.inter_token_latency_p90_s),
    pair(r.inter_token_latency_p90_low_s, r.inter_token_latency_p90_high_s),
    pair(r.inter_token_latency_p90_s, r.inter_token_latency_p90_high_s),
    pair(r.inter_token_latency_p95_low_s, r.inter_token_latency_p95_s),
    pair(r.inter_token_latency_p95_low_s, r.inter_token_latency_p95_high_s),
    pair(r.inter_token_latency_p95_s, r.inter_token_latency_p95_high_s),
    pair(r.inter_token_latency_p99_low_s, r.inter_token_latency_p99_s),
    pair(r.inter_token_latency_p99_low_s, r.inter_token_latency_p99_high_s),
    pair(r.inter_token_latency_p99_s, r.inter_token_latency_p99_high_s),
    pair(r.inter_token_latency_p999_low_s, r.inter_token_latency_p999_s),
    pair(r.inter_token_latency_p999_low_s, r.inter_token_latency_p999_high_s),
    pair(r.inter_token_latency_p999_s, r.inter_token_latency_p999_high_s)
], r.source) AS fault
FROM records r
WHERE r.peak_qps_low > r.peak_qps
    OR r.peak_qps > r.peak_qps_high
    OR r.latency_median_low_s > r.latency_median_s
    OR r.latency_median_low_s > r.latency_median_high_s
    OR r.latency_median_s > r.latency_median_high_s
    OR r.time_to_first_token_median_low_s > r.time_to_first_token_median_s
    OR r.time_to_first_token_median_low_s > r.time_to_first_token_median_high_s
    OR r.time_to_first_token_median_s > r.time_to_first_token_median_high_s
    OR r.time_per_output_token_median_low_s > r.time_per_output_token_median_s
    OR r.time_per_output_token_median_low_s > r.time_per_output_token_median_high_s
    OR r.time_per_output_token_median_s > r.time_per_output_token_median_high_s
    OR r.latency_p90_low_s > r.latency_p90_s
    OR r.latency_p90_low_s > r.latency_p90_high_s
    OR r.latency_p90_s > r.latency_p90_high_s
    OR r.latency_p95_low_s > r.latency_p95_s
    OR r.latency_p95_low_s > r.latency_p95_high_s
    OR r.latency_p95_s > r.latency_p95_high_s
    OR r.latency_p99_low_s > r.latency_p99_s
    OR r.latency_p99_low_s > r.latency_p99_high_s
    OR r.latency_p99_s > r.latency_p99_high_s
    OR r.latency_p999_low_s > r.latency_p999_s
    OR r.latency_p999_low_s > r.latency_p999_high_s
    OR r.latency_p999_s > r.latency_p999_high_s
    OR r.time_to_first_token_p90_low_s > r.time_to_first_token_p90_s
    OR r.time_to_first_token_p90_low_s > r.time_to_first_token_p90_high_s
    OR r.time_to_first_token_p90_s > r.time_to_first_token_p90_high_s
    OR r.time_to_first_token_p95_low_s > r.time_to_first_token_p95_s
    OR r.time_to_first_token_p95_low_s > r.time_to_first_token_p95_high_s
    OR r.time_to_first_token_p95_s > r.time_to_first_token_p95_high_s
    OR r.time_to_first_token_p99_low_s > r.time_to_first_token_p99_s
    OR r.time_to_first_token_p99_low_s > r.time_to_first_token_p99_high_s
    OR r.time_to_first_token_p99_s > r.time_to_first_token_p99_high_s
    OR r.time_to_first_token_p999_low_s > r.time_to_first_token_p999_s
    OR r.time_to_first_token_p999_low_s > r.time_to_first_token_p999_high_s
    OR r.time_to_first_token_p999_s > r.time_to_first_token_p999_high_s
    OR r.time_per_output_token_p90_low_s > r.time_per_output_token_p90_s
    OR r.time_per_output_token_p90_low_s > r.time_per_output_token_p90_high_s
    OR r.time_per_output_token_p90_s > r.time_per_output_token_p90_high_s
    OR r.time_per_output_token_p95_low_s > r.time_per_output_token_p95_s
    OR r.time_per_output_token_p95_low_s > r.time_per_output_token_p95_high_s
    OR r.time_per_output_token_p95_s > r.time_per_output_token_p95_high_s
    OR r.time_per_output_token_p99_low_s > r.time_per_output_token_p99_s
    OR r.time_per_output_token_p99_low_s > r.time_per_output_token_p99_high_s
    OR r.time_per_output_token_p99_s > r.time_per_output_token_p99_high_s
    OR r.time_per_output_token_p999_low_s > r.time_per_output_token_p999_s
    OR r.time_per_output_token_p999_low_s > r.time_per_output_token_p999_high_s
    OR r.time_per_output_token_p999_s > r.time_per_output_token_p999_high_s
    OR r.inter_token_latency_p90_low_s > r.inter_token_latency_p90_s
    OR r.inter_token_latency_p90_low_s > r.inter_token_latency_p90_high_s
    OR r.inter_token_latency_p90_s > r.inter_token_latency_p90_high_s
    OR r.inter_token_latency_p95_low_s > r.inter_token_latency_p95_s
    OR r.inter_token_latency_p95_low_s > r.inter_token_latency_p95_high_s
    OR r.inter_token_latency_p95_s > r.inter_token_latency_p95_high_s
    OR r.inter_token_latency_p99_low_s > r.inter_token_latency_p99_s
    OR r.inter_token_latency_p99_low_s > r.inter_token_latency_p99_high_s
    OR r.inter_token_latency_p99_s > r.inter_token_latency_p99_high_s
    OR r.inter_token_latency_p999_low_s > r.inter_token_latency_p999_s
    OR r.inter_token_latency_p999_low_s > r.inter_token_latency_p999_high_s
    OR r.inter_token_latency_p999_s > r.inter_token_latency_p999_high_s
