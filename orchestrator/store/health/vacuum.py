"""Vacuum: the log emptied into the database file, and its free space given back."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.backup import empty_wal
from orchestrator.store.database.connect import count_rows, duckdb_message, fetch, store_errors
from orchestrator.store.database.lock import (
    WAIT_S,
    delete_database,
    require_database,
    size_of,
    wal_path,
    writer_lock,
)
from orchestrator.store.database.open import open_current
from orchestrator.system.files import REMEDY, file_hint
from runner.contract.errors import StoreError
from runner.contract.files import sync

WASTED_SHARE = 0.25
"""A file of which so much is free, or filled by deleted rows, is worth rewriting,"""
WASTED_BYTES = 2**20
"""provided that it is this much."""


@dataclass(frozen=True)
class Vacuumed:
    """Sizes of a database file with its log, bytes."""

    bytes_before: int
    bytes_after: int
    rewritten: bool
    """True if it was written anew without its free space."""


def vacuum(path: Path, wait_s: float = WAIT_S) -> Vacuumed:
    """Bring the log into the file; write the file anew if much of it is free."""
    require_database(path)
    with writer_lock(path, wait_s):
        path = path.resolve()
        before = size_of(path)
        with (
            open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
            store_errors(f"{path}: the log cannot be emptied", f"nothing was lost; {REMEDY}"),
        ):
            if wal_path(path).exists():
                empty_wal(connection)
            wasted = _wasted_bytes(connection)
        rewritten = wasted >= max(WASTED_BYTES, WASTED_SHARE * path.stat().st_size)
        if rewritten:
            _rewrite(path)
        return Vacuumed(before, size_of(path), rewritten)


def _wasted_bytes(connection: DuckDBPyConnection) -> int:
    """Blocks that are free, and the part of the others that deleted rows still fill."""
    (size,) = fetch(connection, "PRAGMA database_size")
    (rows,) = fetch(connection, "SELECT sum(estimated_size) AS stored FROM duckdb_tables()")
    alive = sum(count_rows(connection).values())
    dead = 1 - alive / rows["stored"] if rows["stored"] else 0
    blocks = size["free_blocks"] + size["used_blocks"] * max(0, dead)
    return int(blocks * size["block_size"])


def _rewrite(path: Path) -> None:
    """Copy all that is in the file into a new one that takes its place; readers may go on."""
    unfinished = path.with_name(f".{path.name}.rewritten")
    try:
        delete_database(unfinished)
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {text(str(path))} AS old (READ_ONLY)")
            connection.execute(f"ATTACH {text(str(unfinished))} AS new")
            connection.execute("COPY FROM DATABASE old TO new")
            if count_rows(connection, "old") != count_rows(connection, "new"):
                raise StoreError(
                    f"{path}: a copy of it lacks rows",
                    hint="nothing was changed; `orchestrator database check` says what is wrong",
                )
            connection.execute("DETACH new")
        sync(unfinished)
        unfinished.replace(path)
        sync(path.parent)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"{path}: cannot be written anew: {duckdb_message(error)}",
            hint=file_hint(error, f"nothing was changed; {REMEDY}: it takes as much again"),
        ) from error
    finally:
        delete_database(unfinished)
