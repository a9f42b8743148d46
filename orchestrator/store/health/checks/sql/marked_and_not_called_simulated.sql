SELECT r.rowid AS row_id, r.result_id AS subject, r.source, r.marks[1] AS fault
FROM benchmark_results r
WHERE len(r.marks) > 0 AND NOT r.simulated
