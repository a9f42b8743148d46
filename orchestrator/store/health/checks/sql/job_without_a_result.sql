SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in replay_jobs alone' AS fault
FROM replay_jobs o ANTI JOIN benchmark_results USING (result_id)
