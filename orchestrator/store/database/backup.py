"""Consistent copies of a database file."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import connect, duckdb_message
from orchestrator.store.database.lock import wal_path
from orchestrator.system.files import REMEDY, file_hint
from runner.contract.errors import StoreError
from runner.contract.files import sync

_CHUNK_BYTES = 16 * 2**20


def copy_database(source: Path, target: Path, wait_s: float) -> None:
    """Copy a database as it is now, its log included; `target` appears whole or not at all.

    Call with the source's `writer_lock` held. Readers of the source go on while it is copied. An
    existing target is replaced; nobody may have it open.
    """
    unfinished = target.with_name(f".{target.name}.copy")
    try:
        _settle(source, wait_s)
        _refuse_log(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        # DuckDB's lock belongs to the process, and closing any handle of the file ends it: this
        # handle is closed after the connection.
        with source.open("rb") as whole, connect(source, read_only=True, wait_s=wait_s):
            _refuse_log(source)
            _copy(whole, unfinished)
        unfinished.replace(target)
        sync(target.parent)
    except (OSError, duckdb.Error) as error:
        raise StoreError(
            f"{source}: cannot be copied to {target}: {duckdb_message(error)}",
            hint=file_hint(error, f"nothing was changed; {REMEDY}"),
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _settle(source: Path, wait_s: float) -> None:
    """Bring into the file what a killed writer left in the log."""
    if wal_path(source).exists():
        with connect(source, read_only=False, wait_s=wait_s) as connection:
            empty_wal(connection)


def empty_wal(connection: DuckDBPyConnection) -> None:
    """Bring all that was committed into the file, and remove the log.

    A log that holds no more than what a killed writer never committed is removed only when
    something else is written.
    """
    connection.execute("BEGIN; CREATE TABLE settling AS SELECT 1; DROP TABLE settling; COMMIT")
    connection.execute("CHECKPOINT")


def _refuse_log(path: Path) -> None:
    if wal_path(path).exists():
        raise StoreError(
            f"{path}: has a log of changes that are not in the file yet",
            hint="open it once, e.g. `orchestrator status`, so that they are; nothing was changed",
        )


def _copy(whole: BinaryIO, unfinished: Path) -> None:
    with unfinished.open("wb") as copied:
        shutil.copyfileobj(whole, copied, _CHUNK_BYTES)
    sync(unfinished)


def copy_aside(path: Path, reason: str) -> Path:
    """Copy a database file with its log, whatever is in it, under a name that says why and when."""
    aside = path.with_name(f"{path.name}.{reason}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    for source, target in ((path, aside), (wal_path(path), wal_path(aside))):
        if source.exists():
            shutil.copyfile(source, target)
    return aside


MANIFEST = "manifest.json"
"""The name of the file that makes a folder a snapshot."""
