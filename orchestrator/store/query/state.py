"""The state of a database: its rows, what they cover, and what is stale.

Counted by DuckDB from columns of results; raw durations are never looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from duckdb import DuckDBPyConnection

from analysis.compatibility.verdicts import BEST_FIRST, verdict_sql
from analysis.results.source import text
from orchestrator.store.database.connect import fetch, size_of
from orchestrator.store.records.find import find_files
from orchestrator.store.schema.result_views import NEWEST_OF_SERIES
from orchestrator.store.schema.tables import OURS, SYNTHETIC, TABLES, VERSION
from orchestrator.store.schema.view import (
    HOST_OF_VERDICT,
    TRUSTED,
    joined_verdicts,
    planned_threads,
)
from runner.contract.axes import AXIS_NAMES, NUMBER_AXES


@dataclass(frozen=True)
class Verdicts:
    """Results of one source, by status."""

    source: str
    simulated: bool
    """True if the source itself says that no device made the numbers."""
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Covered:
    """Results of one model on one backend."""

    model: str
    backend: str
    best: str
    """The best verdict, one of `BEST_FIRST`."""
    results: int
    proven: int
    """Those that default views show."""


@dataclass(frozen=True)
class Coverage:
    """Content of a database."""

    rows: Mapping[str, int]
    verdicts: tuple[Verdicts, ...]
    """By source, ours first."""
    covered: tuple[Covered, ...]
    """By model and backend, without what others measured."""


def coverage(connection: DuckDBPyConnection) -> Coverage:
    names = [table.name for table in TABLES if table is not VERSION]
    counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
    return Coverage(
        dict(connection.execute(counts).fetchall()), _verdicts(connection), _covered(connection)
    )


def _verdicts(connection: DuckDBPyConnection) -> tuple[Verdicts, ...]:
    by_source: dict[tuple[str, bool], dict[str, int]] = defaultdict(dict)
    columns = "source, simulated, status"
    sql = f"SELECT {columns}, count(*) FROM benchmark_results GROUP BY ALL ORDER BY ALL"
    for source, simulated, status, count in connection.execute(sql).fetchall():
        by_source[source, bool(simulated)][status] = count
    verdicts = [Verdicts(*source, counts) for source, counts in by_source.items()]
    return tuple(sorted(verdicts, key=lambda row: row.source != OURS))


def _covered(connection: DuckDBPyConnection) -> tuple[Covered, ...]:
    ranks = ", ".join(map(text, BEST_FIRST))
    rows = fetch(
        connection,
        f"""
        SELECT model, backend, [{ranks}][min(list_position([{ranks}], verdict))] AS best,
            count(*) AS results, count(*) FILTER ({TRUSTED}) AS proven
        FROM (
            SELECT *, {verdict_sql("latency_median_s IS NOT NULL")} AS verdict
            FROM benchmark_results WHERE source IN ('{OURS}', '{SYNTHETIC}')
        ) r
        GROUP BY model, backend ORDER BY model, backend
        """,
    )
    return tuple(Covered(**row) for row in rows)


@dataclass(frozen=True)
class Size:
    """Files and bytes."""

    database_bytes: int
    """The database file with its log."""
    parquet_files: int
    """Record files of the database's runs in the results folder, unfinished ones left out."""
    parquet_bytes: int


def size_on_disk(database: Path, results: Path, runs: Collection[str]) -> Size:
    """The size of the database, and of the record files that have a run's id in their path."""
    above, sizes, ids = len(results.absolute().parts), list[int](), frozenset(runs)
    for path in find_files([results] if results.exists() else []):
        if not ids.isdisjoint({*path.parts[above:], path.stem}):
            with suppress(FileNotFoundError):  # it is removed meanwhile
                sizes.append(path.stat().st_size)
    return Size(size_of(database), len(sizes), sum(sizes))


if TYPE_CHECKING:
    from runner.contract.record.record import Row

REPLAY = r"^orchestrator( -\S+)* replay "
"""The command of a replay, which takes the image of then."""
_MACHINE = f"coalesce({HOST_OF_VERDICT.expression}, r.hostname)"
_SAME = ("backend", "runtime", "launcher")
_WHERE = ("machine", *_SAME)
GROUPED_AXES = sorted(
    (name for name in AXIS_NAMES if name not in _SAME), key=NUMBER_AXES.__contains__
)
"""Words before numbers, as commands name them."""
_FACTS = ("image_digest", "image_labels", "runner_version", "kernel", "python_version", "libraries")
_NAMED_FACTS = {"runner_version": "runner", "kernel": "kernel", "python_version": "Python"}
_BY = ", ".join(_WHERE)
_HERE = f"{_MACHINE} AS machine, {', '.join(f'r.{name}' for name in _SAME)}"
_NEWEST = f"""
    WITH seen AS (
        SELECT {_HERE}, r.environment_id, max(r.recorded_at) AS seen_at FROM {joined_verdicts()}
        WHERE e.runner_version IS NOT NULL AND r.run_id NOT IN (
            SELECT run_id FROM benchmark_runs WHERE regexp_matches(coalesce(command, ''), ?))
        GROUP BY ALL
    ), newest AS (
        SELECT {_BY}, arg_max(environment_id, (seen_at, environment_id)) AS environment_id
        FROM seen GROUP BY {_BY}
    )
    SELECT {_BY}, {", ".join(_FACTS)} FROM newest JOIN environments USING (environment_id)
"""
_GROUPED = (
    *("run_id", "cell_id", "source", "hostname", "hardware_id", "environment_id", "recorded_at"),
    *_SAME,
    *GROUPED_AXES,
)
_NEWEST_RESULTS = f"""(
    SELECT {", ".join(f"r.{name}" for name in _GROUPED)}, contradicts
    FROM benchmark_results r JOIN ({NEWEST_OF_SERIES}) ON r.rowid = place
)"""
_VALUES = ", ".join(
    f"list_distinct(list({planned_threads('r') if axis == 'threads' else f'r.{axis}'})) AS {axis}"
    for axis in GROUPED_AXES
)
"""DuckDB takes longer to plan as many aggregates of distinct values than to make the lists."""
_PROVEN = f"""
    WITH proven AS (
        SELECT {_HERE}, arg_max(r.hostname, r.recorded_at) AS hostname, r.environment_id,
            runs.command, count(*) AS cells, count_if(r.contradicts) AS contradicted,
            min(r.cell_id) AS example, min(r.recorded_at) AS since, {_VALUES}
        FROM {joined_verdicts(_NEWEST_RESULTS)}
        LEFT JOIN benchmark_runs runs ON runs.run_id = r.run_id GROUP BY ALL
    )
    SELECT proven.*, {", ".join(_FACTS)} FROM proven JOIN environments USING (environment_id)
    ORDER BY {_BY}, command, since
"""
"""The rows of `latest_results`, in groups; one look at the table finds them."""


@dataclass(frozen=True)
class Installation:
    """The machine and the software that would measure here today."""

    host: str | None
    runner_version: str
    is_outdated: Callable[[str, Mapping[str, str]], bool]
    """True if a backend's image with these labels would be built anew today."""


@dataclass(frozen=True)
class Stale:
    """Cells with the same changes since their newest proven results were measured."""

    hostname: str | None
    """The machine's newest name."""
    backend: str
    runtime: str
    launcher: str
    changes: tuple[str, ...]
    """Changes since then, e.g. `torch 2.13.0, now 2.14.0`."""
    cells: int
    example: str
    since: datetime
    """The moment at which the oldest of them was measured, UTC."""
    planned_by: str | None
    """The command line that had them measured; null where it is not known, or was a replay."""
    axes: Mapping[str, tuple[Any, ...]]
    """The values of their cells in order, by the cell's field; null ones left out."""

    def __add__(self, other: Self) -> Self:
        axes = {
            name: tuple(sorted({*self.axes.get(name, ()), *other.axes.get(name, ())}))
            for name in {**self.axes, **other.axes}
        }
        return replace(
            self, cells=self.cells + other.cells, since=min(self.since, other.since), axes=axes
        )


@dataclass(frozen=True)
class Doubtful:
    """The latest results that should be measured again."""

    contradicted: int
    """Results that the previous one of their series contradicts."""
    stale: tuple[Stale, ...]
    """Those whose software is not the newest any more, in groups."""


def doubtful(connection: DuckDBPyConnection, installed: Installation) -> Doubtful:
    """The latest results, compared with what was measured before and after them.

    The software of each is compared with that of the newest record of the same machine, backend,
    runtime and launcher, replays left out, and with what is installed if this is that machine.
    """
    where = itemgetter(*_WHERE)
    newest = {where(row): row for row in fetch(connection, _NEWEST, REPLAY)}
    latest = fetch(connection, _PROVEN)
    groups: dict[tuple[object, ...], Stale] = {}
    for then in latest:
        if changes := tuple(_changes(then, newest.get(where(then), then), installed)):
            group = _group(then, changes)
            which = (*where(then), changes, group.planned_by)
            groups[which] = groups[which] + group if which in groups else group
    return Doubtful(sum(row["contradicted"] for row in latest), tuple(groups.values()))


def _group(row: Row, changes: tuple[str, ...]) -> Stale:
    command = row["command"]
    axes = {
        axis: tuple(sorted(value for value in row[axis] or () if value is not None))
        for axis in GROUPED_AXES
    }
    return Stale(
        **{name: row[name] for name in ("hostname", *_SAME, "cells", "example", "since")},
        changes=changes,
        planned_by=None if command is None or re.match(REPLAY, command) else command,
        axes={axis: values for axis, values in axes.items() if values},
    )


def _changes(then: Row, now: Row, installed: Installation) -> Iterator[str]:
    here = then["machine"] == installed.host
    today = now | ({"runner_version": installed.runner_version} if here else {})
    yield from _image_change(then, today, installed if here else None)
    for name, word in _NAMED_FACTS.items():
        yield from _change(word, then[name], today[name])
    libraries = today["libraries"] or {}
    for name, version in (then["libraries"] or {}).items():
        yield from _change(name, version, libraries.get(name))


def _image_change(then: Row, today: Row, installed: Installation | None) -> Iterator[str]:
    old, new = (
        digest and digest[: len("sha256:") + 12]
        for digest in (then["image_digest"], today["image_digest"])
    )
    changed = list(_change("image", old, new))
    yield from changed
    if changed or old is None or installed is None:
        return
    if installed.is_outdated(then["backend"], then["image_labels"] or {}):
        yield f"image {old}, and its files here are others now"


def _change(name: str, then: str | None, now: str | None) -> Iterator[str]:
    if then and now and then != now:
        yield f"{name} {then}, now {now}"
