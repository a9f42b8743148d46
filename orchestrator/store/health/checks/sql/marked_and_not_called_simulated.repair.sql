UPDATE benchmark_results SET simulated = true WHERE rowid IN (SELECT row_id FROM wrong)
