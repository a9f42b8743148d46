SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'run ' || r.run_id || ', cell ' || r.cell_id AS fault
FROM benchmark_results r
WHERE r.result_id <> r.run_id || '/' || r.cell_id
