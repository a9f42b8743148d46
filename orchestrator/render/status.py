"""What the database holds: its size, runs, verdicts, coverage, and what is stale."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from orchestrator.app.results.status import Status, command_anew
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.store import Covered, RunSummary, Stale, Verdicts
from orchestrator.system.text import format_size, plural

SHOWN = 10
"""Runs and stale groups that are shown; `--json` has them all."""
MODELS_SHOWN = 50
IMPORTED = "imported_results"
"""The view of what others measured."""


def print_status(status: Status, *, as_json: bool) -> None:
    """All of it, as tables or as JSON."""
    if as_json:
        print_line(json.dumps(_data(status), indent=2, default=str))
        return
    for line in _head(status):
        print_line(line)
    print_line()
    _print_verdicts(status.coverage.verdicts)
    print_line()
    _print_runs(status.runs)
    print_line()
    if status.coverage.covered:
        _print_covered(status.coverage.covered)
        print_line()
    elif imported := sum(sum(each.counts.values()) for each in status.coverage.verdicts):
        print_line(f"models: all {imported:,} results are imported; ask `{IMPORTED}` for theirs")
        print_line()
    for line in _stale(status.stale):
        print_line(line)


def _data(status: Status) -> dict[str, object]:
    coverage = status.coverage
    return {
        "database": str(status.database),
        "results": str(status.results),
        "scratch": status.scratch,
        **asdict(status.size),
        "rows": coverage.rows,
        "verdicts": [asdict(verdicts) for verdicts in coverage.verdicts],
        "covered": [asdict(covered) for covered in coverage.covered],
        "runs": [asdict(run) for run in status.runs],
        "stale": [_stale_data(group) for group in status.stale],
    }


def _stale_data(group: Stale) -> dict[str, object]:
    axes = {axis: sorted(values) for axis, values in group.axes.items() if values}
    return asdict(group) | {"axes": axes, "command": command_anew(group)}


def _head(status: Status) -> Iterator[str]:
    size, rows = status.size, status.coverage.rows
    kind = "scratch database" if status.scratch else "database"
    yield f"{kind}: {status.database}, {format_size(size.database_bytes)}"
    files = f"{size.parquet_files} {plural(size.parquet_files, 'file')}"
    yield f"Parquet: {files} of its runs in {status.results}, {format_size(size.parquet_bytes)}"
    counts = (f"{count} in {table}" for table, count in rows.items() if count)
    yield f"rows: {', '.join(counts) or 'none'}"


def _print_verdicts(verdicts: Sequence[Verdicts]) -> None:
    statuses = sorted({status for each in verdicts for status in each.counts}, key=_ok_first)
    lines = [
        (
            f"{each.source} (simulated)" if each.simulated else each.source,
            sum(each.counts.values()),
            *(each.counts.get(status) for status in statuses),
        )
        for each in verdicts
    ]
    print_table(("source", "results", *statuses), lines)


def _print_runs(runs: Sequence[RunSummary]) -> None:
    """The newest ones, ours before what was imported."""
    ours_first = sorted(runs, key=lambda run: not run.is_ours)
    lines = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.planned,
            ", ".join(f"{count} {status}" for status, count in run.counts.items()),
        )
        for run in ours_first[:SHOWN]
    ]
    print_table(("run", "started", "planned", "verdicts"), lines)
    _print_more(len(runs), "runs", SHOWN)


def _print_covered(covered: Sequence[Covered]) -> None:
    """A line a model, a column a backend."""
    best: dict[str, dict[str, str]] = {}
    for each in covered:
        best.setdefault(each.model, {})[each.backend] = each.best
    backends = sorted({each.backend for each in covered})
    lines = [(model, *_row(found, backends)) for model, found in best.items()]
    print_table(("model", *backends), lines[:MODELS_SHOWN])
    _print_more(len(lines), "models", MODELS_SHOWN)


def _row(found: Mapping[str, str], backends: Sequence[str]) -> list[str | None]:
    return [found.get(backend) for backend in backends]


def _stale(groups: Sequence[Stale]) -> Iterator[str]:
    if not groups:
        yield "stale: nothing, as far as can be told without measuring"
        return
    yield f"stale: {sum(group.cells for group in groups)} cells"
    for group in groups[:SHOWN]:
        many = f"{group.cells} cells such as " if group.cells > 1 else ""
        where = f"{group.runtime} on {group.hostname}, launcher {group.launcher}"
        yield f"{many}{group.example} ({where}; {group.since:%Y-%m-%d}): {'; '.join(group.changes)}"
        yield f"  {command_anew(group)}"
    if len(groups) > SHOWN:
        yield _more(len(groups), "stale groups", SHOWN)


def _print_more(count: int, what: str, shown: int) -> None:
    if count > shown:
        print_line(_more(count, what, shown))


def _more(count: int, what: str, shown: int) -> str:
    return f"… and {count - shown} more {what}; --json has them all"


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status
