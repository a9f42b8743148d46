"""What a database and the record files behind it take on disk."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Size:
    """Files and bytes."""

    database_bytes: int
    """The database file with its log."""
    parquet_files: int
    """Record files in the results folder, unfinished ones left out."""
    parquet_bytes: int


def size_on_disk(database: Path, results: Path) -> Size:
    """What the database takes, and the record files below that folder."""
    log = database.with_name(f"{database.name}.wal")
    sizes = list(_record_files(results))
    return Size(
        database_bytes=sum(path.stat().st_size for path in (database, log) if path.exists()),
        parquet_files=len(sizes),
        parquet_bytes=sum(sizes),
    )


def _record_files(folder: Path) -> Iterator[int]:
    """The bytes of each; what somebody removes meanwhile does not count."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".parquet") and not name.startswith("."):
                with suppress(FileNotFoundError):
                    yield (Path(parent) / name).stat().st_size
