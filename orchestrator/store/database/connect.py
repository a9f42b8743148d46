"""Connections to a database file: created whole, with clear errors."""

import re
import time
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.errors import explain, interruptible
from orchestrator.store.database.lock import in_use
from orchestrator.store.database.paths import discard, log_of
from orchestrator.store.schema.version import create_schema, mark_as_made
from runner.contract.errors import StoreError

RETRY_S = 0.05
_BUSY = re.compile(r"Could not set lock|different configuration")
_A_TABLE = "Cannot launch in-memory database"
"""What DuckDB says where a file is no database, but named like one that it reads as a table."""
_REFUSED = re.compile(r"Permission denied|Read-only file system")


class NotADatabase(StoreError):
    """A file that DuckDB cannot open: damaged, foreign, or of a newer DuckDB."""


def connect(path: Path, *, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    """Open an existing database, waiting up to `wait_s` seconds for whoever holds it.

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
                raise in_use(path, wait_s, error) from error
        time.sleep(RETRY_S)


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
        discard(unfinished)
        log_of(path).unlink(missing_ok=True)
        write_schema(unfinished)
        with duckdb.connect(unfinished) as connection:
            mark_as_made(connection, scratch=scratch)
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        discard(unfinished)
        raise StoreError(
            f"{path}: cannot be created: {explain(error)}",
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
    why = "it does not begin like one" if _A_TABLE in str(error) else explain(error)
    return NotADatabase(
        f"{path}: not a database that DuckDB {duckdb.__version__} can open: {why}",
        hint="name another file with `--database`; the Parquet files can be merged into a new one",
    )
