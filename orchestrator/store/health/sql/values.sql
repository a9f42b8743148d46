-- check: impossible raw duration
-- remedy: `--fix` takes such results out
-- imported: error
-- table: benchmark_results
-- timed
-- Zeros of others are a check of their own.
SELECT 'the shortest is ' || least(
    list_min(r.durations_ns), list_min(r.warmup_durations_ns),
    list_min(flatten(map_values(r.part_durations_ns)))
) || ' ns' AS fault
FROM records r
WHERE list_min(r.durations_ns) < CASE WHEN is_ours(r.source) THEN 1 ELSE 0 END
    OR list_min(r.warmup_durations_ns) < CASE WHEN is_ours(r.source) THEN 1 ELSE 0 END
    OR list_min(flatten(map_values(r.part_durations_ns))) < 0
