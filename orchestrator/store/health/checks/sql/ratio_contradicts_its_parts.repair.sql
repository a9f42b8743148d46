-- From statistics that raw durations confirm, where the cell's id confirms the batch.
UPDATE benchmark_results r
SET latency_cv = r.latency_stddev_s / r.latency_mean_s
WHERE differs(r.latency_cv, r.latency_stddev_s / r.latency_mean_s)
    AND r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))
    AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
    AND r.result_id IN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL);
