SELECT r.rowid AS row_id, result_id AS subject, r.source,
    'the shortest is ' || least(
        list_min(durations_ns), list_min(warmup_durations_ns),
        list_min(flatten(map_values(part_durations_ns)))
    ) || ' ns' AS fault
FROM raw_benchmark_data JOIN benchmark_results r USING (result_id)
WHERE list_min(durations_ns) <= 0
    OR list_min(warmup_durations_ns) <= 0
    OR list_min(flatten(map_values(part_durations_ns))) < 0
