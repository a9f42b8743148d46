SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    r.proof || ', without evidence' AS fault
FROM benchmark_results r
WHERE is_ours(r.source) AND r.proof <> 'none' AND coalesce(cardinality(r.evidence), 0) = 0
