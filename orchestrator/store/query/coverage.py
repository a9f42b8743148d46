"""Content of a database: rows, verdicts by source, and the best verdict of models on backends.

Counted by DuckDB from columns of results; raw durations are never looked at.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from analysis.compatibility.verdicts import BEST_FIRST, verdict_sql
from analysis.results.source import text
from orchestrator.store.database.connect import fetch, scalar, size_of
from orchestrator.store.records.find import find_files
from orchestrator.store.schema.tables import OURS, SYNTHETIC, TABLES, VERSION
from orchestrator.store.schema.view import TRUSTED


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
    contradicted: int
    """The latest results that the one before them in their series contradicts."""


def coverage(connection: DuckDBPyConnection) -> Coverage:
    names = [table.name for table in TABLES if table is not VERSION]
    counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
    return Coverage(
        dict(connection.execute(counts).fetchall()),
        _verdicts(connection),
        _covered(connection),
        int(scalar(connection, "SELECT count(contradicted_by) FROM latest_results")),
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
