-- Every pair, since those between may be null.
SELECT disorder([
    pair(r.latency_min_s, r.latency_p50_s),
    pair(r.latency_min_s, r.latency_p90_s),
    pair(r.latency_min_s, r.latency_p95_s),
    pair(r.latency_min_s, r.latency_p99_s),
    pair(r.latency_min_s, r.latency_p999_s),
    pair(r.latency_min_s, r.latency_max_s),
    pair(r.latency_p50_s, r.latency_p90_s),
    pair(r.latency_p50_s, r.latency_p95_s),
    pair(r.latency_p50_s, r.latency_p99_s),
    pair(r.latency_p50_s, r.latency_p999_s),
    pair(r.latency_p50_s, r.latency_max_s),
    pair(r.latency_p90_s, r.latency_p95_s),
    pair(r.latency_p90_s, r.latency_p99_s),
    pair(r.latency_p90_s, r.latency_p999_s),
    pair(r.latency_p90_s, r.latency_max_s),
    pair(r.latency_p95_s, r.latency_p99_s),
    pair(r.latency_p95_s, r.latency_p999_s),
    pair(r.latency_p95_s, r.latency_max_s),
    pair(r.latency_p99_s, r.latency_p999_s),
    pair(r.latency_p99_s, r.latency_max_s),
    pair(r.latency_p999_s, r.latency_max_s),
    pair(r.time_to_first_token_p50_s, r.time_to_first_token_p90_s),
    pair(r.time_to_first_token_p50_s, r.time_to_first_token_p95_s),
    pair(r.time_to_first_token_p50_s, r.time_to_first_token_p99_s),
    pair(r.time_to_first_token_p50_s, r.time_to_first_token_p999_s),
    pair(r.time_to_first_token_p90_s, r.time_to_first_token_p95_s),
    pair(r.time_to_first_token_p90_s, r.time_to_first_token_p99_s),
    pair(r.time_to_first_token_p90_s, r.time_to_first_token_p999_s),
    pair(r.time_to_first_token_p95_s, r.time_to_first_token_p99_s),
    pair(r.time_to_first_token_p95_s, r.time_to_first_token_p999_s),
    pair(r.time_to_first_token_p99_s, r.time_to_first_token_p999_s),
    pair(r.time_per_output_token_p50_s, r.time_per_output_token_p90_s),
    pair(r.time_per_output_token_p50_s, r.time_per_output_token_p95_s),
    pair(r.time_per_output_token_p50_s, r.time_per_output_token_p99_s),
    pair(r.time_per_output_token_p50_s, r.time_per_output_token_p999_s),
    pair(r.time_per_output_token_p90_s, r.time_per_output_token_p95_s),
    pair(r.time_per_output_token_p90_s, r.time_per_output_token_p99_s),
    pair(r.time_per_output_token_p90_s, r.time_per_output_token_p999_s),
    pair(r.time_per_output_token_p95_s, r.time_per_output_token_p99_s),
    pair(r.time_per_output_token_p95_s, r.time_per_output_token_p999_s),
    pair(r.time_per_output_token_p99_s, r.time_per_output_token_p999_s),
    pair(r.inter_token_latency_p50_s, r.inter_token_latency_p90_s),
    pair(r.inter_token_latency_p50_s, r.inter_token_latency_p95_s),
    pair(r.inter_token_latency_p50_s, r.inter_token_latency_p99_s),
    pair(r.inter_token_latency_p50_s, r.inter_token_latency_p999_s),
    pair(r.inter_token_latency_p90_s, r.inter_token_latency_p95_s),
    pair(r.inter_token_latency_p90_s, r.inter_token_latency_p99_s),
    pair(r.inter_token_latency_p90_s, r.inter_token_latency_p999_s),
    pair(r.inter_token_latency_p95_s, r.inter_token_latency_p99_s),
    pair(r.inter_token_latency_p95_s, r.inter_token_latency_p999_s),
    pair(r.inter_token_latency_p99_s, r.inter_token_latency_p999_s)
], r.source) AS fault
FROM records r
WHERE r.latency_min_s > r.latency_p50_s
    OR greatest(r.latency_min_s, r.latency_p50_s) > r.latency_p90_s
    OR greatest(r.latency_min_s, r.latency_p50_s, r.latency_p90_s) > r.latency_p95_s
    OR greatest(
        r.latency_min_s, r.latency_p50_s, r.latency_p90_s, r.latency_p95_s
    ) > r.latency_p99_s
    OR greatest(
        r.latency_min_s, r.latency_p50_s, r.latency_p90_s, r.latency_p95_s, r.latency_p99_s
    ) > r.latency_p999_s
    OR greatest(
        r.latency_min_s, r.latency_p50_s, r.latency_p90_s, r.latency_p95_s, r.latency_p99_s,
        r.latency_p999_s
    ) > r.latency_max_s
    OR r.time_to_first_token_p50_s > r.time_to_first_token_p90_s
    OR greatest(
        r.time_to_first_token_p50_s, r.time_to_first_token_p90_s
    ) > r.time_to_first_token_p95_s
    OR greatest(
        r.time_to_first_token_p50_s, r.time_to_first_token_p90_s, r.time_to_first_token_p95_s
    ) > r.time_to_first_token_p99_s
    OR greatest(
        r.time_to_first_token_p50_s, r.time_to_first_token_p90_s, r.time_to_first_token_p95_s,
        r.time_to_first_token_p99_s
    ) > r.time_to_first_token_p999_s
    OR r.time_per_output_token_p50_s > r.time_per_output_token_p90_s
    OR greatest(
        r.time_per_output_token_p50_s, r.time_per_output_token_p90_s
    ) > r.time_per_output_token_p95_s
    OR greatest(
        r.time_per_output_token_p50_s, r.time_per_output_token_p90_s,
        r.time_per_output_token_p95_s
    ) > r.time_per_output_token_p99_s
    OR greatest(
        r.time_per_output_token_p50_s, r.time_per_output_token_p90_s,
        r.time_per_output_token_p95_s, r.time_per_output_token_p99_s
    ) > r.time_per_output_token_p999_s
    OR r.inter_token_latency_p50_s > r.inter_token_latency_p90_s
    OR greatest(
        r.inter_token_latency_p50_s, r.inter_token_latency_p90_s
    ) > r.inter_token_latency_p95_s
    OR greatest(
        r.inter_token_latency_p50_s, r.inter_token_latency_p90_s,
        r.inter_token_latency_p95_s
    ) > r.inter_token_latency_p99_s
    OR greatest(
        r.inter_token_latency_p50_s, r.inter_token_latency_p90_s,
        r.inter_token_latency_p95_s, r.inter_token_latency_p99_s
    ) > r.inter_token_latency_p999_s
