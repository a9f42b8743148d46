"""Statistics of one distribution that stand in the wrong order."""

from itertools import combinations

from orchestrator.store.health.checks.check import Check, of_results
from orchestrator.store.health.checks.derived import Pair, disorder
from orchestrator.store.schema.tables import RESULTS, RUNS

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_REMEDY = "`--fix` takes from raw durations what they tell, and takes out the rest"


def _above(lower: str, upper: str) -> Pair:
    return Pair(lower, f"r.{lower}", f"r.{upper}", upper)


def _rising(*columns: str) -> list[Pair]:
    """Every pair, since those between may be null."""
    return [_above(lower, upper) for lower, upper in combinations(columns, 2)]


ORDER = (
    Check(
        "percentiles out of order",
        disorder(
            [
                *_rising(
                    "latency_min_s",
                    *(f"latency_{each}_s" for each in _PERCENTILES),
                    "latency_max_s",
                ),
                *_rising(*(f"time_to_first_token_{each}_s" for each in _PERCENTILES)),
                *_rising(*(f"time_per_output_token_{each}_s" for each in _PERCENTILES)),
            ]
        ),
        _REMEDY,
        table=RESULTS,
    ),
    Check(
        "middle outside its range",
        disorder(
            [
                *_rising("latency_min_s", "latency_median_s", "latency_max_s"),
                _above("latency_min_s", "latency_mean_s"),
                _above("latency_mean_s", "latency_max_s"),
            ]
        ),
        _REMEDY,
        table=RESULTS,
    ),
    Check(
        "interval out of order",
        disorder(_rising("latency_median_low_s", "latency_median_s", "latency_median_high_s")),
        _REMEDY,
        table=RESULTS,
    ),
)


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
