SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    r.proof || ', though nobody of ours has seen it' AS fault
FROM benchmark_results r
WHERE NOT is_ours(r.source) AND r.proof <> 'none'
