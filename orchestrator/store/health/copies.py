"""Copies of a database file: as it is, aside, and anew without its free space."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import (
    WAIT_S,
    connect,
    count_rows,
    delete_database,
    duckdb_message,
    fetch,
    require_database,
    scalar,
    size_of,
    store_errors,
    wal_path,
    writer_lock,
)
from orchestrator.store.database.open import open_current
from orchestrator.system.files import REMEDY, file_hint
from runner.contract.errors import StoreError
from runner.contract.files import sync


def copy_database(source: Path, target: Path, wait_s: float) -> None:
    """Copy a database with its log, whole or not at all; hold the source's `writer_lock`."""
    unfinished = target.with_name(f".{target.name}.copy")
    try:
        if wal_path(source).exists():  # what a killed writer left
            with connect(source, read_only=False, wait_s=wait_s) as connection:
                empty_wal(connection)
        _refuse_log(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        # DuckDB's lock belongs to the process, and closing any handle of the file ends it: this
        # handle is closed after the connection.
        with source.open("rb") as whole, connect(source, read_only=True, wait_s=wait_s):
            _refuse_log(source)
            with unfinished.open("wb") as copied:
                shutil.copyfileobj(whole, copied, 16 << 20)
            sync(unfinished)
        unfinished.replace(target)
        sync(target.parent)
    except (OSError, duckdb.Error) as error:
        raise StoreError(
            f"{source}: cannot be copied to {target}: {duckdb_message(error)}",
            hint=file_hint(error, f"nothing was changed; {REMEDY}"),
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def empty_wal(connection: DuckDBPyConnection) -> None:
    """Bring all that was committed into the file, and remove the log."""
    # Else the log of what a killed writer never committed would stay.
    connection.execute("BEGIN; CREATE TABLE settling AS SELECT 1; DROP TABLE settling; COMMIT")
    connection.execute("CHECKPOINT")


def _refuse_log(path: Path) -> None:
    if wal_path(path).exists():
        raise StoreError(
            f"{path}: has a log of changes that are not in the file yet",
            hint="open it once, e.g. `orchestrator status`, so that they are; nothing was changed",
        )


def copy_aside(path: Path, reason: str) -> Path:
    """Copy a database file with its log, whatever is in it, under a name that says why and when."""
    aside = path.with_name(f"{path.name}.{reason}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    for source, target in ((path, aside), (wal_path(path), wal_path(aside))):
        if source.exists():
            shutil.copyfile(source, target)
    return aside


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
    stored = scalar(connection, "SELECT sum(estimated_size)::BIGINT FROM duckdb_tables()")
    dead = 1 - sum(count_rows(connection).values()) / stored if stored else 0
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
