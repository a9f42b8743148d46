-- The median lies within its 95 % interval.
SELECT disorder([
    pair(r.latency_median_low_s, r.latency_median_s),
    pair(r.latency_median_low_s, r.latency_median_high_s),
    pair(r.latency_median_s, r.latency_median_high_s)
], r.source) AS fault
FROM records r
WHERE r.latency_median_low_s > r.latency_median_s
    OR r.latency_median_low_s > r.latency_median_high_s
    OR r.latency_median_s > r.latency_median_high_s
