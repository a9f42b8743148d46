-- All but the newest of the rows of one result.
SELECT rowid AS row_id, result_id AS subject, source,
    'an older row, recorded ' || recorded_at::VARCHAR AS fault
FROM benchmark_results
WHERE result_id IN (SELECT result_id FROM benchmark_results GROUP BY result_id HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY result_id ORDER BY recorded_at DESC, rowid DESC) > 1
