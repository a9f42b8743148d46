-- check: result twice
-- remedy: `--fix` keeps the newest and takes the others out
-- imported: error
-- table: benchmark_results, outright
-- All but the newest of the rows of one result.
SELECT rowid AS row_id, result_id AS subject, source,
    'an older row, recorded ' || recorded_at::VARCHAR AS fault
FROM benchmark_results
WHERE result_id IN (SELECT result_id FROM benchmark_results GROUP BY result_id HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY result_id ORDER BY recorded_at DESC, rowid DESC) > 1

-- check: raw durations twice
-- remedy: `--fix` keeps those that agree with the result and takes the others out
-- imported: error
-- table: raw_benchmark_data, outright
-- All but the row that agrees best with the newest result.
WITH twice AS (
    SELECT result_id FROM raw_benchmark_data GROUP BY result_id HAVING count(*) > 1
)
SELECT d.rowid AS row_id, d.result_id AS subject, r.source,
    len(d.durations_ns) || ' durations' AS fault
FROM raw_benchmark_data d
LEFT JOIN (
    SELECT result_id, any_value(source) AS source,
        arg_max(iterations, recorded_at) AS iterations,
        arg_max(latency_mean_s, recorded_at) AS mean_s
    FROM benchmark_results WHERE result_id IN (FROM twice) GROUP BY result_id
) r USING (result_id)
WHERE d.result_id IN (FROM twice)
QUALIFY row_number() OVER (
    PARTITION BY d.result_id
    ORDER BY (len(d.durations_ns) = r.iterations) DESC NULLS LAST,
        abs(list_avg(d.durations_ns) / 1e9 - r.mean_s) NULLS LAST,
        d.rowid DESC
) > 1

-- check: job twice
-- remedy: `--fix` keeps one and takes the others out
-- table: replay_jobs, outright
-- All but the last of the jobs of one result.
SELECT rowid AS row_id, result_id AS subject, NULL AS source, 'a second job' AS fault
FROM replay_jobs
WHERE result_id IN (SELECT result_id FROM replay_jobs GROUP BY result_id HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY result_id ORDER BY rowid DESC) > 1

-- check: measurement under two runs
-- remedy: `--fix` keeps the first and takes the others out
-- table: benchmark_results, outright
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

-- check: result without its run
-- remedy: `--fix` infers the run from its records, as a merge does
-- imported: error
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'run_id ' || r.run_id || ' is not in benchmark_runs' AS fault
FROM benchmark_results r
WHERE r.run_id NOT IN (SELECT run_id FROM benchmark_runs)

-- check: result without its machine
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such results out
-- imported: error
-- table: benchmark_results
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'hardware_id ' || r.hardware_id || ' is not in hardware_info' AS fault
FROM benchmark_results r
WHERE r.hardware_id IS NOT NULL
    AND r.hardware_id NOT IN (SELECT hardware_id FROM hardware_info)

-- check: result without its environment
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such results out
-- imported: error
-- table: benchmark_results
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'environment_id ' || r.environment_id || ' is not in environments' AS fault
FROM benchmark_results r
WHERE r.environment_id IS NOT NULL
    AND r.environment_id NOT IN (SELECT environment_id FROM environments)

-- check: result without its model
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it keeps what the results say of the model, without `model_spec`
-- imported: error
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'model_id ' || r.model_id || ' is not in models' AS fault
FROM benchmark_results r
WHERE r.model_id IS NOT NULL AND r.model_id NOT IN (SELECT model_id FROM models)

-- repair: result without its model
-- Models in the words of their newest results, which do not hold `model_spec`.
INSERT INTO models BY NAME
SELECT model_id, arg_max(model, recorded_at) AS model, arg_max(family, recorded_at) AS family,
    arg_max(task, recorded_at) AS task, arg_max(modality, recorded_at) AS modality,
    NULL AS model_spec, min(recorded_at) AS seen_at
FROM benchmark_results r
WHERE r.rowid IN (SELECT row_id FROM wrong)
GROUP BY model_id

-- check: no machine told
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such results out
-- table: benchmark_results
SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'hardware_id is null' AS fault
FROM benchmark_results r
WHERE r.hardware_id IS NULL AND r.status = 'ok' AND is_ours(r.source)

-- check: no environment told
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such results out
-- table: benchmark_results
SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'environment_id is null' AS fault
FROM benchmark_results r
WHERE r.environment_id IS NULL AND r.status = 'ok' AND is_ours(r.source)

-- check: raw durations without a result
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such rows out
-- table: raw_benchmark_data
SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in raw_benchmark_data alone' AS fault
FROM raw_benchmark_data o ANTI JOIN benchmark_results USING (result_id)

-- check: job without a result
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such rows out
-- table: replay_jobs
SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in replay_jobs alone' AS fault
FROM replay_jobs o ANTI JOIN benchmark_results USING (result_id)

-- check: accepted change without a result
-- remedy: `--fix` takes them from the record files below `--results`, if those are there; else it takes such rows out
-- table: accepted_changes
SELECT o.rowid AS row_id, o.result_id AS subject, NULL AS source,
    'in accepted_changes alone' AS fault
FROM accepted_changes o ANTI JOIN benchmark_results USING (result_id)

-- check: id that is not its run and cell
-- remedy: `--fix` takes such results out; merge their record files again
-- imported: error
-- table: benchmark_results, outright
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'run ' || r.run_id || ', cell ' || r.cell_id AS fault
FROM benchmark_results r
WHERE r.result_id <> r.run_id || '/' || r.cell_id

-- check: result without raw durations
-- remedy: merge its record file into a new database
-- severity: warning
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'nothing can show how its statistics came about' AS fault
FROM benchmark_results r
ANTI JOIN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL) d
    USING (result_id)
WHERE is_ours(r.source) AND r.latency_median_s IS NOT NULL
