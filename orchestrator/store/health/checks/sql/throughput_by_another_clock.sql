-- Others who time queries and the whole run apart, by two clocks, may be off by 5 %.
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
WHERE abs(throughput - expected) <= 0.05 * expected
    AND abs(throughput - expected) > half_digit(throughput)
        + expected * half_digit(latency_mean_s) / latency_mean_s + expected * 1e-9
