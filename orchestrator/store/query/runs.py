"""Runs in short, their verdicts, and the words that name one."""

import re
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.tables import OURS
from orchestrator.system.text import plural
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


def newest_first(runs: Sequence[RunSummary]) -> list[str]:
    """The ids of runs in the order in which `last~N` counts them, those of ours before others.

    Ids of runs are in order even where a clock was set back between them; the others keep theirs.
    """

    def place(run: RunSummary) -> tuple[bool, str]:
        dated = run.is_ours and RUN_ID.fullmatch(run.run_id)
        return run.is_ours, run.run_id if dated else ""

    return [run.run_id for run in sorted(runs, key=place, reverse=True)]


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
_BACK = re.compile(rf"{_LAST}(?:~([0-9]{{1,6}}))?")


def steps_back(name: str) -> int | None:
    """The number of runs that `last` or `last~2` goes back from the newest; None for a name."""
    match = _BACK.fullmatch(name)
    return match and int(match[1] or 0)


def run_back(
    name: str, ids: Sequence[str], back: int, *, before: str = "", behind: str = ""
) -> str:
    """The id so many behind the first of these, else a refusal of the name with their number."""
    if 0 <= back < len(ids):
        return ids[back]
    count = f"{len(ids):,} {plural(len(ids), 'run')}"
    oldest = (steps_back(name) or 0) - back + len(ids) - 1
    only = f"the oldest of them is `{_LAST}~{oldest}`" if oldest else f"`{_LAST}` is the only one"
    raise UsageError(f"{name}: {before}{count}{behind}", hint=only)


def resolve_run(
    name: str, runs: Sequence[RunSummary], database: Path, able: Container[str] | None = None
) -> str:
    """The id of the run named; `last` is the newest of those able to answer, else of all."""
    back = steps_back(name)
    if back is not None and runs:
        ids = newest_first(runs)
        answering = [run_id for run_id in ids if able is None or run_id in able]
        return run_back(name, answering or ids, back, before="the database holds ")
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
