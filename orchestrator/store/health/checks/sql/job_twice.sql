-- All but the last of the jobs of one result.
SELECT rowid AS row_id, result_id AS subject, NULL AS source, 'a second job' AS fault
FROM replay_jobs
WHERE result_id IN (SELECT result_id FROM replay_jobs GROUP BY result_id HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY result_id ORDER BY rowid DESC) > 1
