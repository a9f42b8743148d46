"""Blank databases: describing every column takes longest, so a process does it once."""

from pathlib import Path

import duckdb

from orchestrator.store.schema.version import create_schema

_made: list[bytes] = []


def write_blank(path: Path) -> None:
    """Write a database that has tables and views, and no row yet.

    Raises:
        duckdb.Error, OSError: the file system refuses.
    """
    if _made:
        path.write_bytes(_made[0])
        return
    with duckdb.connect(path) as connection:
        create_schema(connection)
    _made.append(path.read_bytes())
