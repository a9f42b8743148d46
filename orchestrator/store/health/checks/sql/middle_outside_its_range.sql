-- Median and mean lie between the shortest and the longest latency.
SELECT disorder([
    pair(r.latency_min_s, r.latency_median_s),
    pair(r.latency_min_s, r.latency_max_s),
    pair(r.latency_median_s, r.latency_max_s),
    pair(r.latency_min_s, r.latency_mean_s),
    pair(r.latency_mean_s, r.latency_max_s)
], r.source) AS fault
FROM records r
WHERE r.latency_min_s > r.latency_median_s
    OR r.latency_min_s > r.latency_max_s
    OR r.latency_median_s > r.latency_max_s
    OR r.latency_min_s > r.latency_mean_s
    OR r.latency_mean_s > r.latency_max_s
