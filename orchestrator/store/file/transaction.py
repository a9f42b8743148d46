"""All or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb
from duckdb import DuckDBPyConnection


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """What happens within is committed whole, or undone."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
