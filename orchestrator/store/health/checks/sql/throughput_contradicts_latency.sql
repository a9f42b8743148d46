-- Rates of ours are counts by times of the same row; docs/measuring.md defines them. Others measure
-- one query behind the other; who times queries and the whole run apart, by two clocks, may be off
-- by 5 %. What they print is rounded.
SELECT CASE WHEN is_ours(r.source) THEN contradictions([
    pair(r.throughput, r.batch_size * r.iterations / r.steady_time_s),
    pair(r.token_throughput, r.batch_size * r.new_tokens * r.iterations / r.steady_time_s),
    pair(r.decode_throughput, r.batch_size / r.time_per_output_token_mean_s),
    pair(r.decode_throughput, r.batch_size / r.inter_token_latency_mean_s),
    pair(r.achieved_qps, r.iterations / r.steady_time_s)
], r.source) ELSE
    'throughput is ' || r.throughput || ', and ' || r.batch_size || ' in ' || r.latency_mean_s
        || ' s are ' || r.batch_size / r.latency_mean_s
END AS fault
FROM records r
WHERE (is_ours(r.source) AND (
    differs(r.throughput, r.batch_size * r.iterations / r.steady_time_s)
    OR differs(r.token_throughput, r.batch_size * r.new_tokens * r.iterations / r.steady_time_s)
    OR differs(r.decode_throughput, r.batch_size / r.time_per_output_token_mean_s)
    OR differs(r.decode_throughput, r.batch_size / r.inter_token_latency_mean_s)
    OR differs(r.achieved_qps, r.iterations / r.steady_time_s)
)) OR (NOT is_ours(r.source) AND r.source <> 'mlperf-inference' AND r.latency_mean_s > 0
    AND coalesce(r.scenario, 'single_stream') = 'single_stream'
    AND abs(r.throughput - r.batch_size / r.latency_mean_s)
        > 0.05 * (r.batch_size / r.latency_mean_s)
    AND abs(r.throughput - r.batch_size / r.latency_mean_s) > half_digit(r.throughput)
        + r.batch_size / r.latency_mean_s * (half_digit(r.latency_mean_s) / r.latency_mean_s + 1e-9)
)
