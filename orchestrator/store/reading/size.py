"""What a database and the record files behind it take on disk."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.file.paths import size_of
from orchestrator.store.merging.record_files import find_files


@dataclass(frozen=True)
class Size:
    """Files and bytes."""

    database_bytes: int
    """The database file with its log."""
    parquet_files: int
    """Record files of the database's runs in the results folder, unfinished ones left out."""
    parquet_bytes: int


def size_on_disk(database: Path, results: Path, runs: Collection[str]) -> Size:
    """What the database takes, and the record files of these runs below that folder.

    A run's files lie in the folder that has its id, an import's file has it as its name.
    """
    sizes = list(_sizes(results, frozenset(runs)))
    return Size(size_of(database), len(sizes), sum(sizes))


def _sizes(results: Path, runs: frozenset[str]) -> Iterator[int]:
    """The bytes of each record file; what somebody removes meanwhile does not count."""
    above = len(results.absolute().parts)
    for path in find_files([results] if results.exists() else []):
        if runs.isdisjoint({*path.parts[above:], path.stem}):
            continue
        with suppress(FileNotFoundError):
            yield path.stat().st_size
