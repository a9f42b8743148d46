"""Databases of older schemas are brought forward when they are opened, with a copy kept beside."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.backup import MANIFEST, copy_database
from orchestrator.store.database.connect import connect
from orchestrator.store.database.errors import explain, explained, interruptible
from orchestrator.store.database.lock import writer_lock
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.schema.version import Kind, OlderSchema, bring_forward, kind_of, recognise
from runner.contract.errors import StoreError


@interruptible()
def open_current(path: Path, *, read_only: bool, wait_s: float) -> tuple[DuckDBPyConnection, Kind]:
    """Open a database, and bring it to this schema if it is older; to write, hold the lock.

    Raises:
        StoreError: it is in use for longer than `wait_s` seconds, not ours, of a schema that this
            AccelMatrix cannot work with, or older and where nothing can be written.
    """
    try:
        return _open(path, read_only=read_only, wait_s=wait_s)
    except OlderSchema as older:
        _require_change(path, older)
        with writer_lock(path, wait_s) if read_only else nullcontext():
            _forward(path, wait_s)
        return _open(path, read_only=read_only, wait_s=wait_s)


def _open(path: Path, *, read_only: bool, wait_s: float) -> tuple[DuckDBPyConnection, Kind]:
    connection = connect(path, read_only=read_only, wait_s=wait_s)
    try:
        return connection, recognise(connection, path)
    except BaseException:
        connection.close()
        raise


def _require_change(path: Path, older: OlderSchema) -> None:
    """Insist that the database may be changed where it lies.

    Raises:
        StoreError: it is a snapshot, or its file or folder is read-only.
    """
    if (path.parent / MANIFEST).exists():
        raise StoreError(
            f"{older}, and a snapshot stays as it is",
            hint="restore it, or copy the file and ask the copy: that is brought forward",
        )
    ids = {"effective_ids": os.access in os.supports_effective_ids}
    if not all(os.access(each, os.W_OK, **ids) for each in (path, path.parent)):
        raise StoreError(
            f"{older}, and cannot be brought to {STORE_VERSION}: it may not be written",
            hint="copy it to a folder of your own, or let its owner open it: `orchestrator status`",
        )


def _forward(path: Path, wait_s: float) -> None:
    """The file as it was is kept as `<name>.schema<version>`.

    Raises:
        StoreError: it is in use, not ours, or the disk is full; it is as it was then.
    """
    with connect(path, read_only=False, wait_s=wait_s) as connection:
        version = kind_of(connection, path).version
    if version >= STORE_VERSION:
        return
    copy_database(path, path.with_name(f"{path.name}.schema{version}"), wait_s)
    try:
        with connect(path, read_only=False, wait_s=wait_s) as connection:
            bring_forward(connection, version)
    except duckdb.Error as error:
        raise StoreError(
            f"{path}: cannot be brought from schema {version} to {STORE_VERSION}: {explain(error)}",
            hint="nothing was changed; see that the folder can be written and the disk not full",
        ) from error


_IS_SEALED = "SELECT current_setting('lock_configuration')"
_SEAL = "SET enable_external_access = false; SET lock_configuration = true"


@contextmanager
def sealed(path: Path, wait_s: float) -> Iterator[DuckDBPyConnection]:
    """A connection that can change nothing, reaches no other file, and whose settings are locked.

    Settings are those of all this process's connections to the file, so whoever else reads it here
    is sealed as well. An instance with settings of its own would not do: DuckDB's lock belongs to
    the process, and closing a second handle of the file ends it for the first.

    Raises:
        StoreError: the database is being written for longer than `wait_s` seconds, or not ours.
    """
    with open_current(path, read_only=True, wait_s=wait_s)[0] as connection:
        with explained(f"{path}: cannot be read", "restore it, or merge into a new one"):
            _seal(connection)
        yield connection


def _seal(connection: DuckDBPyConnection) -> None:
    ((is_sealed,),) = connection.execute(_IS_SEALED).fetchall()
    if not is_sealed:
        connection.execute(_SEAL)
