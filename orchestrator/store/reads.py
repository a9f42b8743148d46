"""What the orchestrator itself asks of the database."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from duckdb import DuckDBPyConnection

from orchestrator.store.rows import fetch


@dataclass(frozen=True)
class RunSummary:
    """A run and how its cells ended."""

    run_id: str
    started_at: datetime
    finished_at: datetime | None
    """Null while the run goes on, or when it was interrupted."""
    planned: int | None
    """Cells planned; null when only the records are known."""
    counts: Mapping[str, int]
    """Cells by status."""


@dataclass(frozen=True)
class ResultRow:
    """One line of a run's table of results, in customary units."""

    cell_id: str
    model: str
    backend: str
    runtime: str
    precision: str
    batch_size: int
    sequence_length: int | None
    mode: str
    status: str
    proof: str
    reason: str | None
    warnings: list[str] | None
    """What makes the numbers less trustworthy, each with its remedy."""
    throughput: float | None
    """Samples per second."""
    latency_median_ms: float | None
    latency_p90_ms: float | None
    load_time_s: float | None
    memory_mb: float | None
    """Highest memory use, megabytes (1,000,000 bytes)."""


def verdicts(connection: DuckDBPyConnection, run_id: str) -> dict[str, str]:
    """Status by cell id."""
    sql = "SELECT cell_id, status FROM benchmark_results WHERE run_id = ? ORDER BY cell_id"
    return {row["cell_id"]: row["status"] for row in fetch(connection, sql, run_id)}


def runs(connection: DuckDBPyConnection) -> list[RunSummary]:
    """All runs, the newest first."""
    counts: dict[str, dict[str, int]] = {}
    for row in fetch(
        connection,
        "SELECT run_id, status, count(*) AS cells FROM benchmark_results"
        " GROUP BY run_id, status ORDER BY run_id, status",
    ):
        counts.setdefault(row["run_id"], {})[row["status"]] = row["cells"]
    found = fetch(
        connection,
        "SELECT run_id, started_at, finished_at, planned FROM benchmark_runs"
        " ORDER BY started_at DESC, run_id DESC",
    )
    return [RunSummary(**row, counts=counts.get(row["run_id"], {})) for row in found]


def history(connection: DuckDBPyConnection, hostname: str) -> dict[str, float]:
    """Median wall seconds of each cell that ended well on this host: its load and all its queries.

    Cells of a job share one load, so the sum over a job's cells is an upper bound.
    """
    found = fetch(
        connection,
        """
        SELECT cell_id, median(coalesce(import_time_s, 0) + coalesce(load_time_s, 0)
            + coalesce(first_latency_s, 0) + coalesce(warmup_time_s, 0)
            + coalesce(steady_time_s, 0)) AS seconds
        FROM benchmark_results WHERE status = 'ok' AND hostname = ?
        GROUP BY cell_id ORDER BY cell_id
        """,
        hostname,
    )
    return {row["cell_id"]: row["seconds"] for row in found}


def results(connection: DuckDBPyConnection, run_id: str) -> list[ResultRow]:
    """The verdicts of one run, proven or not, by cell id."""
    shown = ", ".join(field.name for field in fields(ResultRow))
    sql = f"SELECT {shown} FROM benchmark_performance_all WHERE run_id = ? ORDER BY cell_id"
    return [ResultRow(**row) for row in fetch(connection, sql, run_id)]
