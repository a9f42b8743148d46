"""Content of a database: rows, verdicts by source, and the best verdict of models on backends.

Counted by DuckDB from columns of results; raw durations are never looked at.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from analysis.compatibility.verdicts import BEST_FIRST, verdict_sql
from analysis.results.source import text
from orchestrator.store.database.connect import fetch, size_of
from orchestrator.store.records.find import find_files
from orchestrator.store.schema.result_views import LATEST
from orchestrator.store.schema.tables import OURS, RESULTS, SYNTHETIC, TABLES, VERSION
from orchestrator.store.schema.view import TRUSTED


@dataclass(frozen=True)
class Verdicts:
    """Results of one source, by status."""

    source: str
    """The project that measured."""
    simulated: bool
    """True if the source itself says that no device made the numbers."""
    counts: Mapping[str, int]
    """Results by status."""


@dataclass(frozen=True)
class Covered:
    """Results of one model on one backend."""

    model: str
    backend: str
    best: str
    """The best verdict, one of `BEST_FIRST`."""
    results: int
    """All results."""
    proven: int
    """Those that default views show."""


@dataclass(frozen=True)
class Coverage:
    """Content of a database."""

    rows: Mapping[str, int]
    """Rows by table."""
    verdicts: tuple[Verdicts, ...]
    """By source, ours first."""
    covered: tuple[Covered, ...]
    """By model and backend, without what others measured."""
    contradicted: int
    """The latest results that the one before them in their series contradicts."""


def coverage(connection: DuckDBPyConnection) -> Coverage:
    counted = f"SELECT count(contradicted_by) AS results FROM {LATEST.name}"
    (contradicted,) = fetch(connection, counted)
    return Coverage(
        _rows(connection), _verdicts(connection), _covered(connection), contradicted["results"]
    )


def _rows(connection: DuckDBPyConnection) -> dict[str, int]:
    names = [table.name for table in TABLES if table is not VERSION]
    sql = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
    return dict(connection.execute(sql).fetchall())


def _verdicts(connection: DuckDBPyConnection) -> tuple[Verdicts, ...]:
    by_source: dict[tuple[str, bool], dict[str, int]] = {}
    for row in fetch(
        connection,
        f"SELECT source, simulated, status, count(*) AS results FROM {RESULTS.name}"
        " GROUP BY ALL ORDER BY ALL",
    ):
        counts = by_source.setdefault((row["source"], bool(row["simulated"])), {})
        counts[row["status"]] = row["results"]
    verdicts = [Verdicts(*source, counts) for source, counts in by_source.items()]
    return tuple(sorted(verdicts, key=lambda row: row.source != OURS))


def _covered(connection: DuckDBPyConnection) -> tuple[Covered, ...]:
    """Results by model and backend, synthetic ones too: they lie in scratch databases alone."""
    ranks = ", ".join(map(text, BEST_FIRST))
    rows = fetch(
        connection,
        f"""
        SELECT model, backend, [{ranks}][min(list_position([{ranks}], verdict))] AS best,
            count(*) AS results, count(*) FILTER ({TRUSTED}) AS proven
        FROM (
            SELECT *, {verdict_sql("latency_median_s IS NOT NULL")} AS verdict
            FROM {RESULTS.name} WHERE source IN ('{OURS}', '{SYNTHETIC}')
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
    """The size of the database, and of the record files of these runs.

    A run's files lie in the folder that has its id; an import's file has it as its name.
    """
    sizes = list(_sizes(results, frozenset(runs)))
    return Size(size_of(database), len(sizes), sum(sizes))


def _sizes(results: Path, runs: frozenset[str]) -> Iterator[int]:
    """The bytes of each record file; a file that is removed meanwhile does not count."""
    above = len(results.absolute().parts)
    for path in find_files([results] if results.exists() else []):
        if runs.isdisjoint({*path.parts[above:], path.stem}):
            continue
        with suppress(FileNotFoundError):
            yield path.stat().st_size
