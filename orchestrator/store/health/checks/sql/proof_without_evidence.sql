SELECT r.proof || ', without evidence' AS fault
FROM records r
WHERE is_ours(r.source) AND r.proof <> 'none' AND coalesce(cardinality(r.evidence), 0) = 0
