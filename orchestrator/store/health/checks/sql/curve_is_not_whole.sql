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
