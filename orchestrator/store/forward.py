"""Databases of older schemas are brought forward when they are opened, with a copy kept beside."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store.connect import connect, explain, writer_lock
from orchestrator.store.schema import Kind, OlderSchema, bring_forward, kind_of, recognise
from orchestrator.store.tables import STORE_VERSION


def open_current(
    path: Path, *, read_only: bool, wait_s: float
) -> tuple[DuckDBPyConnection, Kind]:
    """Open a database, and bring it to this schema if it is older; to write, hold the lock.

    Raises:
        StoreError: it is in use for longer than `wait_s` seconds, not ours, or of a schema that
            this AccelMatrix cannot work with.
    """
    try:
        return _open(path, read_only=read_only, wait_s=wait_s)
    except OlderSchema:
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


def _forward(path: Path, wait_s: float) -> None:
    """The file as it was is kept as `<name>.schema<version>`.

    Raises:
        StoreError: it is in use, not ours, or the disk is full; it is as it was then.
    """
    with connect(path, read_only=False, wait_s=wait_s) as connection:
        version = kind_of(connection, path).version
        connection.execute("CHECKPOINT")
    if version >= STORE_VERSION:
        return
    kept = path.with_name(f"{path.name}.schema{version}")
    try:
        shutil.copyfile(path, kept)
        with connect(path, read_only=False, wait_s=wait_s) as connection:
            bring_forward(connection, version)
    except (OSError, duckdb.Error) as error:
        raise StoreError(
            f"{path}: cannot be brought from schema {version} to {STORE_VERSION}: {explain(error)}",
            hint="nothing was changed; see that the folder can be written and the disk not full",
        ) from error
