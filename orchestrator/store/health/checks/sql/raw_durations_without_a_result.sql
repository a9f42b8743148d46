SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in raw_benchmark_data alone' AS fault
FROM raw_benchmark_data o ANTI JOIN benchmark_results USING (result_id)
