-- Rates of ours are counts by times of the same row; docs/measuring.md defines them.
SELECT * FROM (
    SELECT row_id, subject, source, contradictions([
            pair(throughput, expected_throughput),
            pair(token_throughput, expected_token_throughput),
            pair(decode_throughput, expected_decode_throughput),
            pair(achieved_qps, expected_achieved_qps)
        ], source) AS fault
    FROM (
        SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
            r.throughput,
            r.batch_size * r.iterations / r.steady_time_s AS expected_throughput,
            r.token_throughput,
            r.batch_size * r.new_tokens * r.iterations / r.steady_time_s
                AS expected_token_throughput,
            r.decode_throughput,
            r.batch_size / r.time_per_output_token_mean_s AS expected_decode_throughput,
            r.achieved_qps,
            r.iterations / r.steady_time_s AS expected_achieved_qps
        FROM benchmark_results r WHERE is_ours(r.source)
    )
    WHERE differs(throughput, expected_throughput)
        OR differs(token_throughput, expected_token_throughput)
        OR differs(decode_throughput, expected_decode_throughput)
        OR differs(achieved_qps, expected_achieved_qps)
)
WHERE fault <> ''

UNION ALL

-- Others measure one query behind the other; who times queries and the whole run apart, by two
-- clocks, may be off by 5 %. What they print is rounded.
SELECT row_id, subject, source,
    'throughput is ' || throughput || ', and ' || batch_size || ' in ' || latency_mean_s
        || ' s are ' || expected AS fault
FROM (
    SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
        r.batch_size, r.latency_mean_s, r.throughput,
        r.batch_size / r.latency_mean_s AS expected
    FROM benchmark_results r
    WHERE NOT is_ours(r.source) AND r.source <> 'mlperf-inference' AND r.latency_mean_s > 0
        AND coalesce(r.scenario, 'single_stream') = 'single_stream'
)
WHERE abs(throughput - expected) > 0.05 * expected
    AND abs(throughput - expected) > half_digit(throughput)
        + expected * half_digit(latency_mean_s) / latency_mean_s + expected * 1e-9
