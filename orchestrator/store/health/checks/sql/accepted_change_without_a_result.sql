SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in accepted_changes alone' AS fault
FROM accepted_changes o ANTI JOIN benchmark_results USING (result_id)
