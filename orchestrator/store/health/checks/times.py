"""Times that have not come yet, or in an order that cannot be."""

from orchestrator.store.health.checks.check import Check, of_results
from orchestrator.store.schema.tables import RESULTS, RUNS

LATER = "getvariable('moment') + INTERVAL 1 MINUTE"
"""Clocks of two machines may differ by so much."""

_TIMES = f"""
    SELECT u.rowid AS place, u.run_id AS subject, NULL AS source, first_at, last_at,
        CASE WHEN u.started_at > {LATER} THEN 'begins in the future, ' || u.started_at::VARCHAR
            WHEN u.finished_at > {LATER} THEN 'ends in the future, ' || u.finished_at::VARCHAR
            WHEN u.finished_at < u.started_at THEN 'ends before it begins'
            WHEN u.started_at > first_at + INTERVAL 1 MINUTE
                THEN 'begins after its first record, of ' || first_at::VARCHAR END AS told
    FROM {RUNS.name} u LEFT JOIN (
        SELECT run_id, min(recorded_at) AS first_at, max(recorded_at) AS last_at
        FROM {RESULTS.name} WHERE recorded_at <= {LATER} GROUP BY run_id
    ) USING (run_id)
"""
_MISTIMED = f"SELECT * FROM ({_TIMES}) WHERE told IS NOT NULL"
_RETIME = f"""
    UPDATE {RUNS.name} u SET started_at = first_at, finished_at = last_at
    FROM ({_MISTIMED}) t WHERE u.rowid = t.place AND first_at IS NOT NULL
"""

TIMES = (
    Check(
        "recorded in the future",
        of_results(f"r.recorded_at > {LATER}", "'recorded ' || r.recorded_at::VARCHAR"),
        "set the clock; `--fix` takes such results out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "measured in the future",
        of_results(
            f"r.source_measured_at > {LATER}", "'measured ' || r.source_measured_at::VARCHAR"
        ),
        "ask whoever wrote the file",
        severity="warning",
    ),
    Check(
        "run at an impossible time",
        _MISTIMED,
        "`--fix` takes the run's times from its records; a run without any is taken out",
        mends=(_RETIME,),
        table=RUNS,
    ),
)
