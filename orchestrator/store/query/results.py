"""Results as the orchestrator shows them, in customary units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from duckdb import DuckDBPyConnection

from analysis.compare.circumstances import CONDITIONS, differences
from analysis.results.metrics import SHOWN_NUMBERS
from analysis.results.row import ResultRow
from analysis.results.trust import Neighbour
from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.view import (
    RESULT_ORDER,
    SERIES_KEY,
    TRUSTED,
    columns,
    joined_results,
    planned_threads,
)
from runner.contract.confidence import upper_deviation
from runner.contract.record.verdict import Doubt

if TYPE_CHECKING:
    from runner.contract.job import ProcessSpread

CONDITION_VALUES = "{" + ", ".join(f"'{name}': r.{name}" for name in CONDITIONS) + "}"
"""Conditions of a result `r` as a struct, without its variables."""


@dataclass(frozen=True)
class MeasuredBefore:
    """The newest run that measured some of these cells."""

    run_id: str
    measured_at: datetime
    """The moment of the last of them."""
    cells: int


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
_QUOTED = columns(
    "run_id grade mode scenario target_qps batch_size environment_id latency_median_ms"
    " latency_median_low_ms latency_median_high_ms peak_qps peak_qps_low peak_qps_high"
)
_OTHER = f"""
    CASE WHEN r.grade IN ('A', 'B', 'C') THEN {{
        {", ".join(f"'{column.name}': {column.expression}" for column in _QUOTED)},
        'measured_at': r.recorded_at, 'conditions': {CONDITION_VALUES}
    }} END
"""


def neighbours(connection: DuckDBPyConnection, run_id: str, *, later: bool) -> list[Neighbour]:
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
    neighbours = []
    for row in fetch(connection, sql, run_id):
        then, now = (
            {**row.pop(f"conditions_{when}"), "environment_variables": row.pop(f"variables_{when}")}
            for when in ("then", "now")
        )
        neighbours.append(Neighbour(**row, differences=differences(then, now)))
    return neighbours


def measured_before(
    connection: DuckDBPyConnection, wanted: Mapping[str, tuple[str, str]], host: str, launcher: str
) -> MeasuredBefore | None:
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


@dataclass(frozen=True)
class Measurement(ResultRow):
    """A result with what it takes to measure it again."""

    result_id: str
    phase: str | None
    image: str | None
    image_digest: str | None
    git_commit: str | None
    runner_version: str | None
    timed_region: str | None
    energy_scope: str | None
    job: str | None
    """The job with this cell alone and without its model, as JSON."""
    model_spec: str | None
    conditions: Mapping[str, Any]
    """Conditions that the machine's owner may have changed since, by the names of columns."""
    environment_variables: Mapping[str, str] | None


def results(connection: DuckDBPyConnection, run_id: str) -> list[ResultRow]:
    sql = f"SELECT {_shown(ResultRow)} FROM {_ROWS} WHERE p.run_id = ? ORDER BY p.cell_id"
    return [ResultRow(**_with_doubts(row)) for row in fetch(connection, sql, run_id)]


def measurement(connection: DuckDBPyConnection, result_id: str) -> Measurement | None:
    sql = f"""
        SELECT {_shown(Measurement)} FROM {_ROWS}
        LEFT JOIN replay_jobs j ON j.result_id = p.result_id
        LEFT JOIN models m ON m.model_id = p.model_id
        LEFT JOIN environments e ON e.environment_id = r.environment_id
        WHERE p.result_id = ?
    """
    rows = fetch(connection, sql, result_id)
    return Measurement(**_with_doubts(rows[0])) if rows else None


_ROWS = """benchmark_performance_all p
    LEFT JOIN benchmark_results r ON r.result_id = p.result_id"""
_ELSEWHERE = {
    **dict.fromkeys(("reason_facts", "correct_code", "correct_facts", "tolerance", "doubts"), "r"),
    "job": "j",
    "model_spec": "m",
    "environment_variables": "e",
}
"""Columns that the view lacks, by the table they stand in."""
_FIELDS = {field.name for field in fields(ResultRow)}
_NUMBERS = columns(
    " ".join(metric.column for metric in SHOWN_NUMBERS if metric.column not in _FIELDS)
)


def _shown(row: type[ResultRow]) -> str:
    numbers = ", ".join(f"'{column.name}': {column.expression}" for column in _NUMBERS)
    expressions = {
        "threads": f"{planned_threads('p')} AS threads",
        "conditions": f"{CONDITION_VALUES} AS conditions",
        "numbers": f"{{{numbers}}} AS numbers",
    }
    names = (field.name for field in fields(row))
    return ", ".join(expressions.get(name, f"{_ELSEWHERE.get(name, 'p')}.{name}") for name in names)


def _with_doubts(row: dict[str, Any]) -> dict[str, Any]:
    doubts = row["doubts"]
    return row if doubts is None else row | {"doubts": [Doubt(**doubt) for doubt in doubts]}


_ALIKE = 0.8
"""The similarity of Jaro and Winkler from which on one name may be meant by another."""


def nearest(connection: DuckDBPyConnection, result_id: str) -> str | None:
    alike = "greatest(jaro_winkler_similarity(result_id, $1), jaro_winkler_similarity(cell_id, $1))"
    sql = f"""
        SELECT result_id FROM benchmark_results WHERE {alike} >= $2
        ORDER BY {alike} DESC, recorded_at DESC, result_id LIMIT 1
    """
    row = connection.execute(sql, [result_id, _ALIKE]).fetchone()
    return row[0] if row else None


@dataclass(frozen=True)
class CellSpeed:
    """Seconds that parts of a cell took."""

    iteration_s: float
    """One iteration; of a server one query."""
    load_s: float
    """One launch's imports and load."""


def history(connection: DuckDBPyConnection, host: str) -> dict[str, CellSpeed]:
    """Speeds of cells on this host, without the share of the CPU time that others took."""
    rows = fetch(
        connection,
        f"""
        SELECT r.cell_id,
            median(CASE WHEN r.scenario = 'server' THEN r.latency_p50_s
                ELSE r.steady_time_s / r.iterations END
                * (1 - least(coalesce(r.noise_other_load, 0), 0.9))) AS iteration_s,
            median(coalesce(r.import_time_s, 0) + coalesce(r.load_time_s, 0)) AS load_s
        FROM {joined_results()}
        WHERE r.status = 'ok' AND h.host = ? AND r.steady_time_s IS NOT NULL AND r.iterations > 0
        GROUP BY r.cell_id HAVING iteration_s IS NOT NULL ORDER BY r.cell_id
        """,
        host,
    )
    return {row["cell_id"]: CellSpeed(row["iteration_s"], row["load_s"]) for row in rows}


_QUIET = 0.1
"""Share of the CPU time that others may have used."""
_APART = "INTERVAL 2 MINUTE"
"""Time after which two processes of a cell are independent: nearer ones are alike."""
_NEWEST = 200
"""Launches that tell about a path."""


def process_spreads(
    connection: DuckDBPyConnection, host: str, hostname: str, run_ids: Sequence[str]
) -> "dict[str, ProcessSpread]":
    """The spreads of launches in these runs of this host, by `<backend>/<runtime>/<hardware_id>`.

    The variances between the rounds of a result, and between results of one round by one version,
    are pooled by their degrees of freedom. Rounds near in time vary by a share of 1 - ρ of what
    others do, which `effective_rounds` tells. The upper bound is taken, as few pairs may agree.
    """
    from runner.contract.job import ProcessSpread  # loads slowly

    version = f"{SERIES_KEY}, r.environment_id, r.git_commit"
    rows = fetch(
        connection,
        f"""
        WITH quiet AS (
            SELECT r.backend || '/' || r.runtime || '/' || r.hardware_id AS path, r.rounds,
                r.recorded_at, r.latency_median_s AS median_s, r.round_degrees,
                r.latency_between_process_cv AS cv, r.effective_rounds AS effective,
                hash({version}) AS version,
                r.recorded_at - lag(r.recorded_at) OVER (
                    PARTITION BY {version}, r.rounds > 1 ORDER BY r.recorded_at) AS pause
            FROM {joined_results()}
            WHERE {TRUSTED} AND h.host = ? AND r.hostname = ? AND list_contains(?, r.run_id)
                AND r.mode <> 'startup' AND coalesce(r.scenario, 'single_stream') = 'single_stream'
                AND r.grade < 'D' AND coalesce(r.noise_other_load, 0) <= {_QUIET}
                AND coalesce(r.noise_steal, 0) <= {_QUIET}
        ), told AS (
            SELECT path, cv * cv * (rounds + (rounds - 1) * effective) / (effective * rounds) AS v,
                greatest(1, round_degrees) AS degrees, rounds AS launches, recorded_at
            FROM quiet WHERE rounds > 1 AND cv > 0 AND effective > 0
            UNION ALL
            SELECT path, var_samp(median_s) / avg(median_s) ** 2, count(*) - 1, count(*),
                max(recorded_at)
            FROM quiet WHERE rounds = 1 AND (pause IS NULL OR pause >= {_APART})
            GROUP BY path, version HAVING count(*) > 1
        ), newest AS (
            SELECT * FROM told QUALIFY sum(launches) OVER (
                PARTITION BY path ORDER BY recorded_at DESC) - launches < {_NEWEST}
        )
        SELECT path, sqrt(sum(v * degrees) / sum(degrees)) AS cv, sum(degrees) AS degrees,
            sum(launches) AS processes, sum(launches - 1) AS pairs, max(recorded_at) AS measured_at
        FROM newest GROUP BY path ORDER BY path
        """,
        *(host, hostname, list(run_ids)),
    )
    return {
        row.pop("path"): ProcessSpread(**row | {"cv": row["cv"] * upper_deviation(row["degrees"])})
        for row in rows
    }
