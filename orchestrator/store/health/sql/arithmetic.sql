-- check: rounds are not the iterations
-- remedy: `--fix` takes such results out
-- table: benchmark_results
SELECT r.rounds || if(r.rounds = 1, ' round of ', ' rounds of ')
        || array_to_string(r.round_iterations, ' + ')
        || ' iterations, ' || r.iterations || ' in all' AS fault
FROM records r
WHERE list_sum(r.round_iterations) <> r.iterations OR len(r.round_iterations) <> r.rounds

-- check: curve is not whole
-- remedy: `--fix` takes such results out
-- table: benchmark_results
-- The lists of a curve have a possible value for each batch tried, and batches grow.
SELECT concat_ws(', ',
    CASE WHEN NOT fits(r.offline_batches, r.offline_queries, r.offline_throughputs,
            r.offline_latencies_s, r.offline_memory_bytes)
        THEN 'the lists of the curve differ in length' END,
    CASE WHEN list_sort(list_distinct(r.offline_batches)) <> r.offline_batches
        THEN 'its batches do not grow' END,
    CASE WHEN NOT positive(r.offline_batches) OR NOT positive(r.offline_queries)
            OR NOT positive(r.offline_throughputs) OR NOT positive(r.offline_latencies_s)
            OR list_min(r.offline_memory_bytes) < 0
        THEN 'it has numbers that nothing can have' END
) AS fault
FROM records r
WHERE r.offline_batches IS NOT NULL AND (
    NOT fits(r.offline_batches, r.offline_queries, r.offline_throughputs,
        r.offline_latencies_s, r.offline_memory_bytes)
    OR list_sort(list_distinct(r.offline_batches)) <> r.offline_batches
    OR NOT positive(r.offline_batches) OR NOT positive(r.offline_queries)
    OR NOT positive(r.offline_throughputs) OR NOT positive(r.offline_latencies_s)
    OR list_min(r.offline_memory_bytes) < 0
)

-- check: throughput contradicts latency
-- remedy: `--fix` derives what raw durations confirm, and takes out the rest
-- table: benchmark_results
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

-- repair: throughput contradicts latency
UPDATE benchmark_results r SET
    throughput = derived(r.throughput, r.batch_size * r.iterations / r.steady_time_s),
    token_throughput = derived(
        r.token_throughput, r.batch_size * r.new_tokens * r.iterations / r.steady_time_s
    ),
    decode_throughput = derived(
        r.decode_throughput, r.batch_size / r.inter_token_latency_mean_s
    )
WHERE {confirmed} AND (
    differs(r.throughput, r.batch_size * r.iterations / r.steady_time_s)
    OR differs(r.token_throughput, r.batch_size * r.new_tokens * r.iterations / r.steady_time_s)
    OR differs(r.decode_throughput, r.batch_size / r.inter_token_latency_mean_s)
)

-- check: ratio contradicts its parts
-- remedy: `--fix` derives what raw durations confirm, and takes out the rest
-- table: benchmark_results
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

-- repair: ratio contradicts its parts
UPDATE benchmark_results r SET latency_cv = r.latency_stddev_s / r.latency_mean_s
WHERE {confirmed} AND differs(r.latency_cv, r.latency_stddev_s / r.latency_mean_s)

-- check: work above the peak
-- remedy: measure again on a quiet machine: the highest peak of all its jobs counts
-- severity: note
-- views: efficiency
-- Counted work at more than 1.2 times the highest peak measured on the machine: up to there noise
-- explains it, beyond it other work lay beside the peaks, or the model is not the one counted.
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    e.part || ' reaches ' || round(greatest(coalesce(e.mfu, 0), coalesce(e.mbu, 0)), 2)
        || ' times the peak of ' || CASE WHEN coalesce(e.mfu, 0) >= coalesce(e.mbu, 0)
            THEN 'arithmetic' ELSE 'copies' END AS fault
FROM efficiency e JOIN benchmark_results r USING (result_id)
WHERE e.mfu > 1.2 OR e.mbu > 1.2

-- check: throughput by another clock
-- remedy: compare throughputs of one source alone
-- severity: note
-- imported: note
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
