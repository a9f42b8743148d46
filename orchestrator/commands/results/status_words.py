"""The database's status: size, runs, verdicts, coverage, and stale results."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from analysis.results.table import wrapping
from orchestrator.commands.results.status import StaleResults, StatusReport
from orchestrator.screen.lines import own_name, print_command, print_data, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.store.query.coverage import Covered, Verdicts
from orchestrator.store.query.results import RunSummary
from orchestrator.system.text import format_size, plural

_SHOWN = 10
"""Runs and stale groups that are shown; `--json` has them all."""
_MODELS = 50
_IMPORTED_VIEW = "imported_results"
"""The view of what others measured."""
_CONTRADICTIONS_VIEW = "contradictions"
"""The view of results whose grade does not hold."""


def print_status(status: StatusReport, *, as_json: bool) -> None:
    """All of it, as tables or as JSON."""
    if as_json:
        print_data(json.dumps(asdict(status), indent=2, default=str))
        return
    for line in _head(status):
        print_line(line)
    print_line()
    _print_verdicts(status.verdicts)
    print_line()
    _print_runs(status.runs)
    print_line()
    if status.covered:
        _print_covered(status.covered)
        print_line()
    elif imported := sum(_total(source) for source in status.verdicts):
        others = f"ask `{_IMPORTED_VIEW}` for theirs"
        print_line(f"models: all {imported:,} results are imported; {others}")
        print_line()
    if status.contradicted:
        _print_contradicted(status)
        print_line()
    _print_stale(status.stale)


def _head(status: StatusReport) -> Iterator[str]:
    kind = "scratch database" if status.scratch else "database"
    yield f"{kind}: {status.database}, {format_size(status.database_bytes)}"
    files = f"{status.parquet_files:,} {plural(status.parquet_files, 'file')}"
    yield f"Parquet: {files} of its runs in {status.results}, {format_size(status.parquet_bytes)}"
    counts = (f"{count:,} in {table}" for table, count in status.rows.items() if count)
    yield f"rows: {', '.join(counts) or 'none'}"


def _print_verdicts(verdicts: Sequence[Verdicts]) -> None:
    statuses = sorted({status for source in verdicts for status in source.counts}, key=_ok_first)
    lines = [
        (
            f"{row.source} (simulated)" if row.simulated else row.source,
            _total(row),
            *(row.counts.get(status) for status in statuses),
        )
        for row in verdicts
    ]
    print_lines((*wrapping("source"), "results", *statuses), lines)


def _total(verdicts: Verdicts) -> int:
    return sum(verdicts.counts.values())


def _print_runs(runs: Sequence[RunSummary]) -> None:
    """The newest ones, ours before what was imported."""
    ours_first = sorted(runs, key=lambda run: not run.is_ours)
    lines = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.planned,
            run.hostname,
            ", ".join(f"{count:,} {status}" for status, count in run.counts.items()),
        )
        for run in ours_first[:_SHOWN]
    ]
    print_lines(("run", "started", "planned", "host", *wrapping("verdicts")), lines)
    _print_more(len(runs), "runs", _SHOWN)


def _print_covered(covered: Sequence[Covered]) -> None:
    """A line a model, a column a backend."""
    best: dict[str, dict[str, str]] = {}
    for row in covered:
        best.setdefault(row.model, {})[row.backend] = row.best
    backends = sorted({row.backend for row in covered})
    lines = [(model, *map(verdicts.get, backends)) for model, verdicts in best.items()]
    print_lines((*wrapping("model"), *backends), lines[:_MODELS])
    _print_more(len(lines), "models", _MODELS)


def _print_contradicted(status: StatusReport) -> None:
    from orchestrator.system.files import database_option

    count = status.contradicted
    print_line(
        f"contradictions: {count:,} of the latest results of their series: the one"
        " before, with the same software, differs by more than both grades promise"
    )
    option = database_option(status.database)
    print_command(shlex.join([own_name(), "query", _CONTRADICTIONS_VIEW, *option]))


def _print_stale(groups: Sequence[StaleResults]) -> None:
    if not groups:
        print_line("stale: nothing, as far as can be told without measuring")
        return
    print_line(f"stale: {sum(group.cells for group in groups):,} cells")
    for group in groups[:_SHOWN]:
        many = f"{group.cells:,} cells such as " if group.cells > 1 else ""
        where = f"{group.runtime} on {group.hostname}, launcher {group.launcher}"
        changes = "; ".join(group.changes)
        print_line(f"{many}{group.example} ({where}; {group.since:%Y-%m-%d}): {changes}")
        print_command(group.command)
    _print_more(len(groups), "stale groups", _SHOWN)


def _print_more(count: int, noun: str, shown: int) -> None:
    if count > shown:
        print_line(f"… and {count - shown:,} more {noun}; --json has them all")


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status
