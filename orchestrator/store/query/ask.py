"""Questions in SQL, asked on a connection that cannot change the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import InterruptibleThread, duckdb_message, interruptible
from orchestrator.store.database.lock import WAIT_S, require_database
from orchestrator.store.database.open import open_sandboxed
from orchestrator.store.query.values import cast_for_arrow
from runner.contract.errors import StoreError

_FAILED = "the query failed"
_NAMES = "docs/schema.md names tables, views and columns"
_VALUES = "correct the expression; `TRY_CAST(… AS …)` and `TRY(…)` give null where that fails"
_HINTS = {
    "Binder Error": _NAMES,
    "Catalog Error": _NAMES,
    "Conversion Error": _VALUES,
    "Out of Range Error": _VALUES,
    "Invalid Input Error": _VALUES,
    "Out of Memory Error": "ask for fewer rows or columns, or group them",
    "Permission Error": "a question reads this database alone",
}
"""By what DuckDB's message begins with."""
_OTHERWISE = "docs/ask.md shows questions and their words"


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Explain what is wrong with the question, also where the error comes through Arrow's stream.

    Raises:
        StoreError: DuckDB cannot answer.
    """
    with interruptible():
        try:
            yield
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            message = duckdb_message(error)
            hints = (hint for kind, hint in _HINTS.items() if kind in message.partition("\n")[0])
            raise StoreError(f"{_FAILED}: {message}", hint=next(hints, _OTHERWISE)) from error


_BATCH_ROWS = 65_536
_HINT = 'ask with one SELECT, e.g. "SELECT * FROM benchmark_performance"'
_QUESTIONS = {"SELECT", "EXPLAIN", "MULTI"}
"""Statements that may be asked; PIVOT is a `MULTI`."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question. It can be read once, while its connection is open."""

    schema: pa.Schema
    """Its columns; no two have the same name."""
    batches: Iterator[pa.RecordBatch]
    """Its rows, some thousands at a time."""

    def table(self) -> pa.Table:
        """The whole answer at once."""
        return pa.Table.from_batches(list(self.batches), self.schema)


def query(path: Path, sql: str, *, wait_s: float = WAIT_S) -> pa.Table:
    """The answer to a question in SQL, as an Arrow table.

    The database is opened read-only, and the statement reaches no other file and no setting.

    Raises:
        StoreError: there is no database, it is being written for longer than `wait_s` seconds,
            or the statement is wrong; the message keeps DuckDB's suggestion of names.
    """
    with asking(path, sql, wait_s=wait_s) as answer:
        return answer.table()


@contextmanager
def asking(path: Path, sql: str, *, wait_s: float = WAIT_S) -> Iterator[Answer]:
    """The same answer, row by row as it is found, so that it need not fit into memory.

    Raises:
        StoreError: likewise, and also while the rows are read.
    """
    require_database(path)
    with open_sandboxed(path, wait_s) as connection, InterruptibleThread(connection) as thread:
        reader = thread.wait_for(lambda: _reader(connection, sql))
        schema = pa.schema(map(pa.Field.with_name, reader.schema, _distinct(reader.schema.names)))
        with reader:  # left open, it would let nobody open the file again
            yield Answer(schema, _batches(reader, schema, thread))


def _reader(connection: DuckDBPyConnection, sql: str) -> pa.RecordBatchReader:
    with _translated_errors():
        statements = connection.extract_statements(sql)
        if len(statements) > 1:
            raise StoreError(f"{_FAILED}: these are {len(statements)} statements", hint=_HINT)
        if not statements:
            raise StoreError("the query has no result", hint=_HINT)
        kind = statements[0].type.name
        if kind not in _QUESTIONS:
            raise StoreError(
                f"{_FAILED}: only SELECT-like statements are allowed here, not {kind}",
                hint=_HINT,
            )
        return cast_for_arrow(connection.sql(sql)).to_arrow_reader(_BATCH_ROWS)


def _batches(
    reader: pa.RecordBatchReader, schema: pa.Schema, thread: InterruptibleThread
) -> Iterator[pa.RecordBatch]:
    while (batch := thread.wait_for(lambda: _next(reader))) is not None:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    with _translated_errors():
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None


def _distinct(names: list[str]) -> list[str]:
    """Give a second column of the same name a number, as DuckDB does in `CREATE TABLE AS`."""
    taken: list[str] = []
    for name in names:
        number, free = 0, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.append(free)
    return taken
