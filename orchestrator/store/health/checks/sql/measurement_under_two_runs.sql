-- All but the first of the rows with the very same durations of one cell on one host. From three
-- durations on, two measurements do not give the same nanoseconds by chance.
WITH timed AS (
    SELECT result_id, hash(durations_ns) AS mark FROM raw_benchmark_data
    WHERE len(durations_ns) >= 3
), alike AS (
    SELECT result_id, mark FROM timed
    WHERE mark IN (SELECT mark FROM timed GROUP BY mark HAVING count(*) > 1)
)
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'the durations of ' || first_value(r.result_id) OVER same AS fault
FROM alike JOIN benchmark_results r USING (result_id)
WINDOW same AS (
    PARTITION BY mark, r.cell_id, r.hostname, r.source ORDER BY r.recorded_at, r.run_id)
QUALIFY r.run_id <> first_value(r.run_id) OVER same
