"""Who reads files that nobody has looked at: none that the database depends on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection


class Bystander:
    """A connection to no database; another one when a damaged file was the end of it.

    Threads that open small files stand in each other's way: two together are slower than one.
    """

    def __init__(self, *, threads: int | None = 1) -> None:
        self._settings: dict[str, Any] = {} if threads is None else {"threads": threads}
        self._connection: DuckDBPyConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def table(self, query: str) -> pa.Table:
        """The rows that a query answers, as Arrow."""
        with self._connected() as connection:
            return connection.sql(query).to_arrow_table()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows that a query answers."""
        with self._connected() as connection:
            return connection.execute(query).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[DuckDBPyConnection]:
        self._connection = self._connection or duckdb.connect(config=self._settings)
        try:
            yield self._connection
        except (duckdb.InternalException, duckdb.FatalException):
            self._close()
            raise

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def offering(connection: DuckDBPyConnection, name: str, rows: pa.Table) -> Iterator[None]:
    """Let the connection know what a bystander read, under that name."""
    connection.register(name, rows)
    try:
        yield
    finally:
        connection.unregister(name)
