"""The database that results come from: it answers questions in SQL."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


OWN_SOURCES = ("accelmatrix", "synthetic")
"""Sources of results that were not imported; synthetic ones are in scratch databases alone."""


class ArrowSource(Protocol):
    """A database of results; the store is one."""

    def arrow(self, sql: str) -> "pa.Table":
        """The answer to one question in SQL.

        Raises:
            BenchError: the question is wrong, or the database cannot be read.
        """
        ...


def text(value: str) -> str:
    """A value as a string literal for SQL."""
    return "'" + value.replace("'", "''") + "'"
