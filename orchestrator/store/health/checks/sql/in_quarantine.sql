SELECT rowid AS row_id, coalesce(result_id, table_name) AS subject, NULL AS source,
    table_name || ', ' || reason AS fault
FROM quarantine
