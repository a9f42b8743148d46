"""Runs in short, their verdicts, and the words that name one."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.tables import OURS
from runner.contract.errors import UsageError

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
"""The id of a run of ours: its beginning, or a moment after the run before it."""


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
    source: str = OURS
    """The project that measured: `accelmatrix`, or that of an imported file."""
    hostname: str | None = None
    """The host on which the orchestrator ran."""
    group_id: str | None = None
    """The group of runs that it belongs to; null for a run that stands alone."""

    @property
    def is_ours(self) -> bool:
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
    sql = "SELECT cell_id, status FROM benchmark_results WHERE run_id = ? ORDER BY cell_id"
    return {row["cell_id"]: row["status"] for row in fetch(connection, sql, run_id)}


def ended(connection: DuckDBPyConnection, run_id: str) -> frozenset[str]:
    sql = """
        SELECT cell_id FROM benchmark_results WHERE run_id = $1
        UNION SELECT result_id[length($1) + 2:] FROM quarantine
        WHERE run_id = $1 AND starts_with(result_id, $1 || '/')
    """
    return frozenset(row["cell_id"] for row in fetch(connection, sql, run_id))


def runs(connection: DuckDBPyConnection) -> list[RunSummary]:
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    sources: dict[str, str] = {}
    counted = """
        SELECT run_id, status, count(*), any_value(source) FROM benchmark_results
        GROUP BY run_id, status ORDER BY run_id, status
    """
    for run_id, status, cells, source in connection.execute(counted).fetchall():
        counts[run_id][status] = cells
        sources[run_id] = source
    described = """
        SELECT run_id, started_at, finished_at, planned, hostname, group_id FROM benchmark_runs
        ORDER BY started_at DESC, run_id DESC
    """
    return [
        RunSummary(**row, counts=counts[row["run_id"]], source=sources.get(row["run_id"], OURS))
        for row in fetch(connection, described)
    ]


def command_of(connection: DuckDBPyConnection, run_id: str) -> str | None:
    sql = "SELECT command FROM benchmark_runs WHERE run_id = ?"
    row = connection.execute(sql, [run_id]).fetchone()
    return row[0] if row else None


_LAST = "last"


def resolve_run(name: str, runs: Sequence[RunSummary], database: Path) -> str:
    """The id of the run named; `last` is the newest of ours. `runs` are sorted, newest first."""
    newest = newest_run(runs)
    if name == _LAST and newest is not None:
        return newest.run_id
    known = [run.run_id for run in runs]
    if name in known:
        return name
    newest_ids = f"the newest {'are' if len(known) > 1 else 'is'} {', '.join(known[:3])}"
    raise UsageError.unknown(
        name,
        (_LAST, *known) if known else (),
        f"{name!r} is not a run in {database}",
        hint=newest_ids if known else "it holds none yet",
    )


def resolve_group(name: str, runs: Sequence[RunSummary], database: Path) -> list[str]:
    """The ids of the runs of a group, the oldest first; else the run of that name."""
    members = sorted(run.run_id for run in runs if run.group_id == name)
    return members or [resolve_run(name, runs, database)]
