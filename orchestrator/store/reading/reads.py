"""What the orchestrator itself asks of the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from orchestrator.store.file.rows import fetch
from orchestrator.store.schema.origin import OURS


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
    source: str = OURS
    """Who measured: `accelmatrix`, or the project whose file was imported."""

    @property
    def is_ours(self) -> bool:
        """Whether our own runners measured it."""
        return self.source == OURS


def newest_run(runs: Sequence[RunSummary]) -> RunSummary | None:
    """The newest run of ours, or else of whomever; `runs` are sorted, the newest first."""
    ours = (run for run in runs if run.is_ours)
    return next(ours, runs[0] if runs else None)


def verdicts(connection: DuckDBPyConnection, run_id: str) -> dict[str, str]:
    """Status by cell id."""
    sql = "SELECT cell_id, status FROM benchmark_results WHERE run_id = ? ORDER BY cell_id"
    return {row["cell_id"]: row["status"] for row in fetch(connection, sql, run_id)}


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
    found = fetch(
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
        for row in found
    ]


def history(connection: DuckDBPyConnection, hostname: str) -> dict[str, float]:
    """Median wall seconds of each cell timed on this host: its loads and all its iterations.

    Cells of a job share one load a round, so the sum over a job's cells is an upper bound.
    """
    found = fetch(
        connection,
        """
        SELECT cell_id, median(
            (coalesce(import_time_s, 0) + coalesce(load_time_s, 0)) * coalesce(rounds, 1)
            + coalesce(first_latency_s, 0) + coalesce(warmup_time_s, 0)
            + coalesce(steady_time_s, 0) + coalesce(concurrent_time_s, 0)) AS seconds
        FROM benchmark_results
        WHERE status = 'ok' AND hostname = ? AND steady_time_s IS NOT NULL
        GROUP BY cell_id ORDER BY cell_id
        """,
        hostname,
    )
    return {row["cell_id"]: row["seconds"] for row in found}
