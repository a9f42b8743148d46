SELECT r.proof || ', though nobody of ours has seen it' AS fault
FROM records r
WHERE NOT is_ours(r.source) AND r.proof <> 'none'
