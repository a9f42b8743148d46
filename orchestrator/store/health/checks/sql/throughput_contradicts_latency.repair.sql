-- From statistics that raw durations confirm, where the cell's id confirms the batch.
UPDATE benchmark_results r
SET throughput = r.batch_size * r.iterations / r.steady_time_s
WHERE differs(r.throughput, r.batch_size * r.iterations / r.steady_time_s)
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))
    AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
    AND r.result_id IN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL);

UPDATE benchmark_results r
SET token_throughput = r.batch_size * r.new_tokens * r.iterations / r.steady_time_s
WHERE differs(r.token_throughput, r.batch_size * r.new_tokens * r.iterations / r.steady_time_s)
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))
    AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
    AND r.result_id IN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL);

UPDATE benchmark_results r
SET decode_throughput = r.batch_size / r.inter_token_latency_mean_s
WHERE differs(r.decode_throughput, r.batch_size / r.inter_token_latency_mean_s)
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))
    AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
    AND r.result_id IN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL);
