"""Statements on a thread of their own, so that Ctrl-C interrupts them; transactions; rows."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Self, TypeVar

import duckdb
from duckdb import DuckDBPyConnection

from runner.contract.record import Row, rows

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
