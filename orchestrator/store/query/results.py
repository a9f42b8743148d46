"""Results as the orchestrator shows them, in customary units."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.tables import OURS
from orchestrator.store.schema.view import joined_results

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
"""The id of a run of ours: its beginning, or a moment after the run before it."""


@dataclass(frozen=True)
class ResultRow:
    """One line of a run's table of results."""

    cell_id: str
    model: str
    backend: str
    runtime: str
    precision: str
    batch_size: int
    sequence_length: int | None
    image_size: int | None
    audio_seconds: int | None
    new_tokens: int | None
    mode: str
    scenario: str
    status: str
    reason: str | None
    predicted: bool
    """True if the verdict was predicted before anything was launched."""
    proof: str
    correct: bool | None
    """True if the outputs agree with the fp32 CPU reference; None if that was not verified."""
    correct_reason: str | None
    grade: str | None
    grade_reasons: list[str] | None
    """Reasons against the numbers, each with its remedy."""
    throughput: float | None
    """Samples per second."""
    token_throughput: float | None
    """New tokens per second."""
    latency_median_ms: float | None
    latency_median_low_ms: float | None
    """Lower end of the median's 95 % interval."""
    latency_median_high_ms: float | None
    """Upper end of the median's 95 % interval."""
    latency_precision: float | None
    """Half the width of that interval, by the median."""
    latency_p90_ms: float | None
    latency_p99_ms: float | None
    peak_qps: float | None
    load_time_s: float | None
    memory_mb: float | None
    """Highest memory use, megabytes (1,000,000 bytes)."""
    energy_per_sample_joules: float | None


@dataclass(frozen=True)
class Measurement(ResultRow):
    """A result with what it takes to measure it again."""

    result_id: str
    phase: str | None
    hostname: str | None
    launcher: str
    image: str | None
    image_digest: str | None
    git_commit: str | None
    runner_version: str | None
    job: str | None
    """The job with this cell alone and without its model, as JSON."""
    model_spec: str | None
    """The model, as JSON."""


def results(connection: DuckDBPyConnection, run_id: str) -> list[ResultRow]:
    """The verdicts of one run, proven or not, by cell id."""
    shown = ", ".join(field.name for field in fields(ResultRow))
    sql = f"SELECT {shown} FROM benchmark_performance_all WHERE run_id = ? ORDER BY cell_id"
    return [ResultRow(**row) for row in fetch(connection, sql, run_id)]


def measurement(connection: DuckDBPyConnection, result_id: str) -> Measurement | None:
    """One verdict; None if the database does not hold it."""
    shown = ", ".join(field.name for field in fields(Measurement))
    sql = f"""
        SELECT {shown} FROM benchmark_performance_all LEFT JOIN replay_jobs USING (result_id)
        LEFT JOIN (SELECT model_id, model_spec FROM models) USING (model_id)
        WHERE result_id = ?
    """
    rows = fetch(connection, sql, result_id)
    return Measurement(**rows[0]) if rows else None


def nearest(connection: DuckDBPyConnection, result_id: str) -> str | None:
    """The result id most like this one; None in an empty database."""
    sql = """
        SELECT result_id FROM benchmark_results
        ORDER BY jaro_winkler_similarity(result_id, ?) DESC, recorded_at DESC, result_id LIMIT 1
    """
    rows = fetch(connection, sql, result_id)
    return str(rows[0]["result_id"]) if rows else None


@dataclass(frozen=True)
class RunSummary:
    """A run and its cells by status."""

    run_id: str
    started_at: datetime
    finished_at: datetime | None
    """Null while the run goes on, or when it was interrupted."""
    planned: int | None
    """Cells planned; null when only the records are known."""
    counts: Mapping[str, int]
    """Cells by status."""
    source: str = OURS
    """The project that measured: `accelmatrix`, or that of an imported file."""

    @property
    def is_ours(self) -> bool:
        """True if our own runners measured it."""
        return self.source == OURS


def newest_run(runs: Sequence[RunSummary]) -> RunSummary | None:
    """The newest run of ours, or else of others; `runs` are sorted, the newest first.

    Ids of runs are in order even where a clock was set back between them.
    """
    ours = [run for run in runs if run.is_ours]
    dated = (run for run in ours if RUN_ID.fullmatch(run.run_id))
    others = next(iter(ours), runs[0] if runs else None)
    return max(dated, key=lambda run: run.run_id, default=others)


def verdicts(connection: DuckDBPyConnection, run_id: str) -> dict[str, str]:
    """Status by cell id."""
    sql = "SELECT cell_id, status FROM benchmark_results WHERE run_id = ? ORDER BY cell_id"
    return {row["cell_id"]: row["status"] for row in fetch(connection, sql, run_id)}


def ended(connection: DuckDBPyConnection, run_id: str) -> frozenset[str]:
    """Ids of cells that have a verdict, or had one that went into quarantine."""
    sql = """
        SELECT cell_id FROM benchmark_results WHERE run_id = $1
        UNION SELECT result_id[length($1) + 2:] FROM quarantine
        WHERE run_id = $1 AND starts_with(result_id, $1 || '/')
    """
    return frozenset(row["cell_id"] for row in fetch(connection, sql, run_id))


def runs(connection: DuckDBPyConnection) -> list[RunSummary]:
    """All runs, the newest first."""
    counts: dict[str, dict[str, int]] = {}
    sources: dict[str, str] = {}
    for row in fetch(
        connection,
        "SELECT run_id, status, count(*) AS cells, any_value(source) AS source"
        " FROM benchmark_results GROUP BY run_id, status ORDER BY run_id, status",
    ):
        counts.setdefault(row["run_id"], {})[row["status"]] = row["cells"]
        sources[row["run_id"]] = row["source"]
    rows = fetch(
        connection,
        "SELECT run_id, started_at, finished_at, planned FROM benchmark_runs"
        " ORDER BY started_at DESC, run_id DESC",
    )
    return [
        RunSummary(
            **row,
            counts=counts.get(row["run_id"], {}),
            source=sources.get(row["run_id"], OURS),
        )
        for row in rows
    ]


def history(connection: DuckDBPyConnection, host: str) -> dict[str, float]:
    """Median wall seconds of each cell timed on this machine: its loads and all its iterations.

    Cells of a job share one load a round, so the sum over a job's cells is an upper bound.
    """
    rows = fetch(
        connection,
        f"""
        SELECT r.cell_id, median(
            (coalesce(import_time_s, 0) + coalesce(load_time_s, 0)) * coalesce(rounds, 1)
            + coalesce(first_latency_s, 0) + coalesce(warmup_time_s, 0)
            + coalesce(steady_time_s, 0) + coalesce(concurrent_time_s, 0)) AS seconds
        FROM {joined_results()}
        WHERE r.status = 'ok' AND h.host = ? AND r.steady_time_s IS NOT NULL
        GROUP BY r.cell_id ORDER BY r.cell_id
        """,
        host,
    )
    return {row["cell_id"]: row["seconds"] for row in rows}
