"""Connections to the database: opened, interruptible, with DuckDB's errors as StoreErrors."""

import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.lock import delete_database, in_use_error, wal_path
from orchestrator.store.schema.version import create_schema, write_version
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.record import Row, rows

_INTERRUPTED = "Query interrupted"


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt where DuckDB makes a RuntimeError of Ctrl-C."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def store_errors(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done."""
    with interruptible():
        try:
            yield
        except duckdb.Error as error:
            raise StoreError(f"{doing}: {duckdb_message(error)}", hint=hint) from error


def duckdb_message(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement."""
    message = _of_a_thread(str(error)).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())


def _of_a_thread(message: str) -> str:
    """The message of an error of one of DuckDB's threads, which is JSON inside of another error."""
    start = message.find('{"exception_type"')
    if start < 0:
        return message
    try:
        error = json.loads(message[start:])
        return f"{error['exception_type']} Error: {error['exception_message']}"
    except (ValueError, KeyError):
        return message


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


_INTERRUPT_EVERY_S = 0.05
"""An interruption ends one statement, so it is repeated for those that follow."""
_T = TypeVar("_T")


class InterruptibleThread:
    """A thread for the work of one connection; leave its context once nothing is left to do."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._pool = ThreadPoolExecutor(1)
        self._interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()

    def wait_for(self, work: Callable[[], _T]) -> _T:
        """Do the work and return its result; Ctrl-C interrupts it and waits for its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; what the work had not committed is undone.
        """
        future = self._pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._interrupt(future)
            raise

    def check_interrupt(self) -> None:
        """Let work that DuckDB does not do end as well; the work itself calls this.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if self._interrupted:
            raise KeyboardInterrupt

    def _interrupt(self, future: Future[_T]) -> None:
        self._interrupted = True
        while not future.done():
            self._connection.interrupt()
            wait([future], _INTERRUPT_EVERY_S)


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """Commit the statements within together, or undo them."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise


def fetch(connection: DuckDBPyConnection, sql: str, *parameters: object) -> list[Row]:
    """The rows that a SELECT answers."""
    return rows(connection.sql(sql, params=list(parameters)).to_arrow_table())


def count_rows(connection: DuckDBPyConnection, database: str | None = None) -> dict[str, int]:
    """Rows by table of an attached database, or of the one that was opened."""
    tables = fetch(
        connection,
        "SELECT database_name || '.' || table_name AS path, table_name AS name"
        " FROM duckdb_tables() WHERE database_name = coalesce(?, current_database()) ORDER BY name",
        database,
    )
    return {
        table["name"]: fetch(connection, f"SELECT count(*) AS rows FROM {table['path']}")[0]["rows"]
        for table in tables
    }
