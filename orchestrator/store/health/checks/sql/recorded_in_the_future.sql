SELECT 'recorded ' || r.recorded_at::VARCHAR AS fault
FROM records r
WHERE r.recorded_at > latest_moment()
