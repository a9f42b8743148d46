"""Connections to a database file: created whole, with clear errors."""

import re
import time
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.errors import duckdb_message, interruptible
from orchestrator.store.database.lock import in_use_error
from orchestrator.store.database.paths import delete_database, wal_path
from orchestrator.store.schema.version import create_schema, write_version
from runner.contract.errors import DamagedFile, StoreError

_RETRY_S = 0.05
_BUSY = re.compile(r"Could not set lock|different configuration")
_A_TABLE = "Cannot launch in-memory database"
"""DuckDB's message for a file that is no database, but named like one that it reads as a table."""
_REFUSED = re.compile(r"Permission denied|Read-only file system")


def connect(path: Path, *, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    """Open an existing database, waiting up to `wait_s` seconds for its lock.

    Times are shown in UTC.

    Raises:
        StoreError: it stays locked, may not be opened, or is no DuckDB file.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection = duckdb.connect(path.absolute(), read_only=read_only)  # not `:memory:`
            _show_utc(connection)
            return connection
        except duckdb.Error as error:
            if not _BUSY.search(str(error)):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise in_use_error(path, wait_s, error) from error
        time.sleep(_RETRY_S)


def _show_utc(connection: DuckDBPyConnection) -> None:
    """Settings belong to all connections of this process to the file, and may be locked by now."""
    ((zone,),) = connection.execute("SELECT current_setting('TimeZone')").fetchall()
    if zone != "UTC":
        connection.execute("SET GLOBAL TimeZone = 'UTC'")


@interruptible()
def create(path: Path, *, scratch: bool) -> None:
    """Make a new database under a temporary name, then give it its own; call with the lock held.

    Raises:
        StoreError: the file system refuses.
    """
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.new")
    try:
        delete_database(unfinished)
        wal_path(path).unlink(missing_ok=True)
        write_schema(unfinished)
        with duckdb.connect(unfinished) as connection:
            write_version(connection, scratch=scratch)
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        delete_database(unfinished)
        raise StoreError(
            f"{path}: cannot be created: {duckdb_message(error)}",
            hint="see that the folder can be written and the disk is not full",
        ) from error


def write_schema(path: Path) -> None:
    """Write a new database with all tables and views, and without a row.

    Raises:
        duckdb.Error: the file system refuses.
    """
    with duckdb.connect(path) as connection:
        create_schema(connection)


def _unusable(path: Path, error: Exception) -> StoreError:
    if refused := _REFUSED.search(str(error)):
        return StoreError(
            f"{path}: cannot be opened: {refused[0]}",
            hint="copy it to a folder of your own, or name another file with `--database`",
        )
    is_foreign = _A_TABLE in str(error)
    reason = "its header is not that of a DuckDB file" if is_foreign else duckdb_message(error)
    return DamagedFile(
        f"{path}: not a database that DuckDB {duckdb.__version__} can open: {reason}",
        hint="name another file with `--database`; the Parquet files can be merged into a new one",
    )
