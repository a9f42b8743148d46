"""Results of one series over time: those next to a run's, and those that a run repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from duckdb import DuckDBPyConnection

from analysis.results.changes import Neighbour
from analysis.results.conditions import CONDITIONS, differences
from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.view import RESULT_ORDER, SERIES_KEY, TRUSTED, joined_results

if TYPE_CHECKING:
    from runner.contract.record import Row

CONDITION_VALUES = "{" + ", ".join(f"'{name}': r.{name}" for name in CONDITIONS) + "}"
"""Conditions of a result `r` as a struct, without its variables."""


@dataclass(frozen=True)
class MeasuredBefore:
    """The newest run that measured some of these cells."""

    run_id: str
    measured_at: datetime
    """The moment of the last of them."""
    cells: int
    """The number of them that it measured."""


_BEFORE = """
    last_value({} IGNORE NULLS) OVER (
        PARTITION BY {} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
"""
_AFTER = """
    first_value({} IGNORE NULLS) OVER (
        PARTITION BY {} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
"""
_OTHER = f"""
    CASE WHEN r.grade IN ('A', 'B', 'C') THEN {{
        'run_id': r.run_id,
        'measured_at': r.recorded_at,
        'grade': r.grade,
        'mode': r.mode,
        'scenario': r.scenario,
        'target_qps': r.target_qps,
        'batch_size': r.batch_size,
        'latency_median_ms': r.latency_median_s * 1000,
        'latency_median_low_ms': r.latency_median_low_s * 1000,
        'latency_median_high_ms': r.latency_median_high_s * 1000,
        'peak_qps': r.peak_qps,
        'peak_qps_low': r.peak_qps_low,
        'peak_qps_high': r.peak_qps_high,
        'environment_id': r.environment_id,
        'conditions': {CONDITION_VALUES}
    }} END
"""


def neighbours(connection: DuckDBPyConnection, run_id: str, *, later: bool) -> list[Neighbour]:
    """The last result that can be quoted before each one of this run, or the next one after it."""
    which = _AFTER if later else _BEFORE
    other = which.format(_OTHER, f"{SERIES_KEY} ORDER BY {RESULT_ORDER}")
    sql = f"""
        SELECT cell_id, other.* EXCLUDE (environment_id, conditions),
            coalesce(other.environment_id = s.environment_id, false) AS same_software,
            other.conditions AS conditions_then, s.conditions AS conditions_now,
            o.environment_variables AS variables_then, e.environment_variables AS variables_now
        FROM (
            SELECT r.run_id, r.cell_id, r.environment_id, {CONDITION_VALUES} AS conditions,
                {other} AS other
            FROM benchmark_results r WHERE {TRUSTED} AND r.cell_id IN (
                SELECT cell_id FROM benchmark_results WHERE run_id = $1
            )
        ) s
        LEFT JOIN environments e ON e.environment_id = s.environment_id
        LEFT JOIN environments o ON o.environment_id = other.environment_id
        WHERE run_id = $1 AND other IS NOT NULL ORDER BY cell_id
    """
    return [_neighbour(row) for row in fetch(connection, sql, run_id)]


def _neighbour(row: "Row") -> Neighbour:
    then, now = (
        {**row.pop(f"conditions_{when}"), "environment_variables": row.pop(f"variables_{when}")}
        for when in ("then", "now")
    )
    return Neighbour(**row, differences=differences(then, now))


def measured_before(
    connection: DuckDBPyConnection,
    wanted: Mapping[str, tuple[str, str]],
    host: str,
    launcher: str,
) -> MeasuredBefore | None:
    """The newest run on this machine of cells with these model ids and profiles, by cell id.

    None without one.
    """
    sql = f"""
        SELECT r.run_id, max(r.recorded_at) AS measured_at, count(*) AS cells
        FROM {joined_results()}
        JOIN (
            SELECT unnest($1::VARCHAR[]) AS cell_id, unnest($2::VARCHAR[]) AS model_id,
                unnest($3::VARCHAR[]) AS profile
        ) wanted USING (cell_id, model_id, profile)
        WHERE h.host = $4 AND r.launcher = $5 AND {TRUSTED}
        GROUP BY r.run_id ORDER BY measured_at DESC, r.run_id DESC LIMIT 1
    """
    models, profiles = ([pair[index] for pair in wanted.values()] for index in (0, 1))
    rows = fetch(connection, sql, [*wanted], models, profiles, host, launcher)
    return MeasuredBefore(**rows[0]) if rows else None
