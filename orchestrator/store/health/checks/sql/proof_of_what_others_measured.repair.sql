UPDATE benchmark_results SET proof = 'none' WHERE rowid IN (SELECT row_id FROM wrong)
