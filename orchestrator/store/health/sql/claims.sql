-- check: outside the calendar
-- remedy: `--fix` takes such results out
-- imported: error
-- table: benchmark_results, outright
-- A day at either end stays free, since no clock of another zone could tell what is there.
SELECT concat_ws(', ', beyond(r.recorded_at), beyond(r.source_measured_at)) AS fault
FROM records r
WHERE NOT in_calendar(r.recorded_at) OR NOT in_calendar(r.source_measured_at)

-- check: recorded in the future
-- remedy: set the clock; `--fix` takes such results out
-- imported: error
-- table: benchmark_results, outright
SELECT 'recorded ' || r.recorded_at::VARCHAR AS fault
FROM records r
WHERE r.recorded_at > latest_moment()

-- check: measured in the future
-- remedy: ask whoever wrote the file
-- severity: warning
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'measured ' || r.source_measured_at::VARCHAR AS fault
FROM benchmark_results r
WHERE r.source_measured_at > latest_moment()

-- check: interleaved with itself
-- remedy: `--fix` takes such results out
-- imported: error
-- table: benchmark_results, outright
-- A run is measured side by side with another one.
SELECT 'interleaved with ' || r.interleaved_with AS fault
FROM records r
WHERE r.interleaved_with = r.run_id

-- check: run at an impossible time
-- remedy: `--fix` takes the run's times from its records; a run without any is taken out
-- table: benchmark_runs
SELECT * FROM (
    SELECT u.rowid AS row_id, u.run_id AS subject, NULL AS source, first_at, last_at,
        CASE WHEN u.started_at > latest_moment()
            THEN 'begins in the future, ' || u.started_at::VARCHAR
        WHEN u.finished_at > latest_moment()
            THEN 'ends in the future, ' || u.finished_at::VARCHAR
        WHEN u.finished_at < u.started_at
            THEN 'ends before it begins'
        WHEN u.started_at > first_at + INTERVAL 1 MINUTE
            THEN 'begins after its first record, of ' || first_at::VARCHAR
        END AS fault
    FROM benchmark_runs u
    LEFT JOIN (
        SELECT run_id, min(recorded_at) AS first_at, max(recorded_at) AS last_at
        FROM benchmark_results WHERE recorded_at <= latest_moment() GROUP BY run_id
    ) USING (run_id)
)
WHERE fault IS NOT NULL

-- repair: run at an impossible time
UPDATE benchmark_runs u SET started_at = first_at, finished_at = last_at
FROM wrong w
WHERE u.rowid = w.row_id AND first_at IS NOT NULL

-- check: ok without a measurement
-- remedy: `--fix` derives the statistics from raw durations, or takes the result out
-- imported: note
-- table: benchmark_results
-- Ours lack a latency where one was to be measured; others' lack every number.
SELECT 'no latency, no throughput' AS fault
FROM records r
WHERE r.status = 'ok'
    AND CASE WHEN is_ours(r.source)
        THEN r.purpose IN ('measure', 'time') AND r.latency_median_s IS NULL
        ELSE coalesce(
            r.latency_median_s, r.latency_mean_s, r.throughput, r.token_throughput,
            r.decode_throughput, r.latency_min_s, r.latency_p50_s, r.time_to_first_token_mean_s,
            r.first_latency_s, r.load_time_s, r.memory_peak_bytes, r.memory_average_bytes,
            r.memory_device_peak_bytes
        ) IS NULL
        END

-- check: proof without evidence
-- remedy: `--fix` withdraws the proof, so that no default view shows the result
SELECT r.proof || ', without evidence' AS fault
FROM records r
WHERE is_ours(r.source) AND r.proof <> 'none' AND coalesce(cardinality(r.evidence), 0) = 0

-- repair: proof without evidence
UPDATE benchmark_results SET proof = 'none' WHERE rowid IN (SELECT row_id FROM wrong)

-- check: proof of what others measured
-- remedy: `--fix` withdraws the proof
-- imported: error
SELECT r.proof || ', though nobody of ours has seen it' AS fault
FROM records r
WHERE NOT is_ours(r.source) AND r.proof <> 'none'

-- repair: proof of what others measured
UPDATE benchmark_results SET proof = 'none' WHERE rowid IN (SELECT row_id FROM wrong)

-- check: simulated, and called ours
-- remedy: `--fix` takes such results out
-- table: benchmark_results, outright
SELECT 'simulated' AS fault
FROM records r
WHERE r.source = 'accelmatrix' AND r.simulated

-- check: marked, and not called simulated
-- remedy: `--fix` calls it simulated
-- imported: error
SELECT r.marks[1] AS fault
FROM records r
WHERE len(r.marks) > 0 AND NOT r.simulated

-- repair: marked, and not called simulated
UPDATE benchmark_results SET simulated = true WHERE rowid IN (SELECT row_id FROM wrong)

-- check: in a default view, and not ours
-- remedy: `--fix` makes the views anew
-- imported: error
-- views: benchmark_performance, failures
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'shown by benchmark_performance or failures' AS fault
FROM benchmark_results r
WHERE (NOT is_ours(r.source) OR r.simulated) AND r.source <> 'synthetic'
    AND r.result_id IN (
        SELECT result_id FROM benchmark_performance UNION SELECT result_id FROM failures)

-- check: made up, in a real database
-- remedy: `--fix` takes such results out; a scratch database takes them
-- imported: error
-- table: benchmark_results, outright
SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'backend ' || coalesce(r.backend, 'null') || ', source ' || r.source AS fault
FROM benchmark_results r
WHERE (r.backend = 'fake' OR r.source = 'synthetic') AND NOT (SELECT scratch FROM schema_version)

-- check: ok, and not proven
-- remedy: no default view shows it; `evidence` tells why
-- severity: note
SELECT r.rowid AS row_id, r.result_id AS subject, r.source, 'proof ' || r.proof AS fault
FROM benchmark_results r
WHERE r.source = 'accelmatrix' AND r.status = 'ok' AND r.proof <> 'proven'

-- check: run with more or fewer verdicts than planned
-- remedy: `orchestrator run --resume` ends a run that was interrupted
-- severity: note
SELECT u.rowid AS row_id, u.run_id AS subject, NULL AS source,
    coalesce(verdicts, 0) || ' verdicts, ' || u.planned || ' planned' AS fault
FROM benchmark_runs u
LEFT JOIN (
    SELECT run_id, count(*) AS verdicts FROM benchmark_results GROUP BY run_id
) USING (run_id)
WHERE u.planned <> coalesce(verdicts, 0)

-- check: in quarantine
-- remedy: ask `SELECT * FROM quarantine`; the copy that `--fix` made has each row in its place
-- severity: note
SELECT rowid AS row_id, coalesce(result_id, table_name) AS subject, NULL AS source,
    table_name || ', ' || reason AS fault
FROM quarantine
