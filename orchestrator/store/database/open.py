"""Open a database of this schema: older ones are upgraded first, and a copy is kept beside them."""

import os
from contextlib import nullcontext
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.backup import MANIFEST, copy_database
from orchestrator.store.database.connect import connect, duckdb_message, interruptible
from orchestrator.store.database.lock import writer_lock
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.schema.version import DatabaseVersion, read_version, require_known_version
from orchestrator.system.files import REMEDY, file_hint
from runner.contract.errors import StoreError


@interruptible()
def open_current(
    path: Path, *, read_only: bool, wait_s: float
) -> tuple[DuckDBPyConnection, DatabaseVersion]:
    """Open a database, and upgrade it if its schema is older; to write, hold the lock.

    Raises:
        StoreError: it is in use for longer than `wait_s` seconds, not ours, of a schema that this
            AccelMatrix cannot work with, or older and where nothing can be written.
    """
    connection, version = _open(path, read_only=read_only, wait_s=wait_s)
    if not version.is_older:
        return connection, version
    connection.close()
    _require_writable(path, version)
    with writer_lock(path, wait_s) if read_only else nullcontext():
        _upgrade(path, wait_s)
    return _open(path, read_only=read_only, wait_s=wait_s)


def _open(
    path: Path, *, read_only: bool, wait_s: float
) -> tuple[DuckDBPyConnection, DatabaseVersion]:
    connection = connect(path, read_only=read_only, wait_s=wait_s)
    try:
        return connection, require_known_version(connection, path)
    except BaseException:
        connection.close()
        raise


def _require_writable(path: Path, version: DatabaseVersion) -> None:
    """Insist that the database may be changed where it lies.

    Raises:
        StoreError: it is a snapshot, or its file or folder is read-only.
    """
    older = f"{path}: has the older schema {version.number}"
    if (path.parent / MANIFEST).exists():
        raise StoreError(
            f"{older}, and a snapshot stays as it is",
            hint="restore it, or copy the file and ask the copy: that is brought forward",
        )
    ids = {"effective_ids": os.access in os.supports_effective_ids}
    if not all(os.access(file, os.W_OK, **ids) for file in (path, path.parent)):
        raise StoreError(
            f"{older}, and cannot be brought to {STORE_VERSION}: it may not be written",
            hint="copy it to a folder of your own, or let its owner open it: `orchestrator status`",
        )


def _upgrade(path: Path, wait_s: float) -> None:
    """Keep the file as it was under `<name>.schema<version>`, then upgrade it.

    Raises:
        StoreError: it is in use, not ours, or the disk is full; it is as it was then.
    """
    from orchestrator.store.schema.definition import upgrade_schema

    with connect(path, read_only=False, wait_s=wait_s) as connection:
        number = read_version(connection, path).number
    if number >= STORE_VERSION:
        return
    copy_database(path, path.with_name(f"{path.name}.schema{number}"), wait_s)
    try:
        with connect(path, read_only=False, wait_s=wait_s) as connection:
            upgrade_schema(connection, number)
    except duckdb.Error as error:
        message = duckdb_message(error)
        raise StoreError(
            f"{path}: cannot be brought from schema {number} to {STORE_VERSION}: {message}",
            hint=file_hint(error, f"nothing was changed; {REMEDY}"),
        ) from error
