-- Median and mean lie between the shortest and the longest latency.
SELECT * FROM (
    SELECT r.rowid AS row_id, r.result_id AS subject, r.source, disorder([
            pair(r.latency_min_s, r.latency_median_s),
            pair(r.latency_min_s, r.latency_max_s),
            pair(r.latency_median_s, r.latency_max_s),
            pair(r.latency_min_s, r.latency_mean_s),
            pair(r.latency_mean_s, r.latency_max_s)
        ], r.source) AS fault
    FROM benchmark_results r
    WHERE r.latency_min_s > r.latency_median_s
        OR r.latency_min_s > r.latency_max_s
        OR r.latency_median_s > r.latency_max_s
        OR r.latency_min_s > r.latency_mean_s
        OR r.latency_mean_s > r.latency_max_s
)
WHERE fault <> ''
