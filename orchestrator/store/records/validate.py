"""What is wrong with one record file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection
from pydantic import ValidationError

from orchestrator.store.database.errors import explain
from orchestrator.store.records.find import id_fault
from orchestrator.store.schema.origin import OURS
from orchestrator.store.schema.parquet_columns import Shape, literals
from orchestrator.store.schema.tables import REQUIRED
from runner.contract.record import (
    UNREADABLE,
    Record,
    Row,
    arrow_schema,
    read_table,
    record_of,
    rows,
)


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


LONGEST = 300
"""Letters of a reason; what is damaged may hold any number of them."""
_EXPECTED = {field.name: field.type for field in arrow_schema()}
_NEEDED = [name for name, info in Record.model_fields.items() if info.is_required()]
"""What every record of ours has, whichever version of the runner wrote it."""


class Unsound(Exception):
    """A file that cannot be merged, for the reason given."""


class Unreadable(Unsound):
    """A file that a reader gives up, whatever is in it."""


def sound_table(path: Path) -> pa.Table:
    """The rows of a record file that can be merged.

    Raises:
        Unsound: it cannot.
    """
    try:
        table = read_table(path)
        wrong = shape_fault(table.schema)
        wrong = wrong or next(filter(None, map(_row_fault, rows(table))), None)
    except UNREADABLE as error:
        raise _unreadable(error) from error
    if wrong is not None:
        raise Unsound(one_line(wrong))
    return table


def fault(path: Path) -> str | None:
    """What keeps this file from being merged, as far as pyarrow sees; None if nothing does."""
    try:
        sound_table(path)
    except Unsound as unsound:
        return str(unsound)
    return None


def look_at_columns(path: Path) -> tuple[list[str], str | None]:
    """The file's columns as pyarrow names them, and what is wrong with them.

    Raises:
        Unreadable: pyarrow cannot tell.
    """
    try:
        schema = pq.read_schema(path)
        return schema.names, shape_fault(schema)
    except UNREADABLE as error:
        raise _unreadable(error) from error


def reading_fault(path: Path) -> str | None:
    """What keeps pyarrow or DuckDB from reading this file; None if both can."""
    try:
        names = read_table(path).column_names
    except UNREADABLE as error:
        return str(_unreadable(error))
    file, everything = literals([path]), Shape((path,), frozenset(names)).query
    try:
        with Bystander() as own:
            for part in (
                f"parquet_schema({file})",
                f"parquet_kv_metadata({file})",
                f"({everything})",
            ):
                own.rows(f"SELECT max(hash(each)) FROM {part} each")
    except duckdb.Error as error:
        return of_duckdb(error)
    return None


def shape_fault(schema: pa.Schema) -> str | None:
    """What is wrong with these columns, whatever is in them."""
    found = {field.name: field.type for field in schema}
    if "cell_id" not in found:
        return "a Parquet file, but not of AccelMatrix: it has no column cell_id"
    for name, type_ in _EXPECTED.items():
        if found.get(name, type_) != type_:
            return f"column {name} holds {found[name]}, not {type_}"
    needed = REQUIRED if "source" in found else _NEEDED
    lacking = sorted(set(needed) - found.keys())
    return f"lacks the columns {lacking}" if lacking else None


def of_duckdb(error: duckdb.Error) -> str:
    """What DuckDB says of a file, as a reason."""
    return one_line(f"DuckDB cannot read it: {explain(error)}")


def one_line(text: str) -> str:
    """The first line of a reason, cut if it is endless."""
    line = text.partition("\n")[0]
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _row_fault(row: Row) -> str | None:
    if row.get("source", OURS) != OURS:
        lacking = [name for name in REQUIRED if row.get(name) is None]
        return f"{lacking[0]}: is null" if lacking else id_fault(row)
    try:
        record_of(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['input']!r}: {first['msg']}"
    return id_fault(row)


def _unreadable(error: Exception) -> Unreadable:
    return Unreadable(one_line(f"truncated or not a Parquet file: {error}"))


NAMED = 5


@dataclass(frozen=True)
class Damaged:
    """A file that could not be merged."""

    path: Path
    reason: str


def without(files: Sequence[Path], damaged: Sequence[Damaged]) -> list[Path]:
    """The files that are not among the damaged ones."""
    left_out = {file.path for file in damaged}
    return [file for file in files if file not in left_out]
