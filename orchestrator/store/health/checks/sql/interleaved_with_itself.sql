-- Launches of a run take turns with those of another one.
SELECT 'interleaved with ' || r.interleaved_with AS fault
FROM records r
WHERE r.interleaved_with = r.run_id
