"""Databases of older schemas are brought forward when they are opened, with a copy kept beside."""

import os
from contextlib import nullcontext
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store.file.backup import copy_database
from orchestrator.store.file.connect import connect
from orchestrator.store.file.explaining import explain, interruptible
from orchestrator.store.file.lock import writer_lock
from orchestrator.store.file.manifest import MANIFEST
from orchestrator.store.schema.kind import Kind, OlderSchema, kind_of, recognise
from orchestrator.store.schema.making import bring_forward
from orchestrator.store.schema.tables import STORE_VERSION


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
