"""Questions in SQL, asked on a connection that cannot change the database, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from orchestrator.store.database.connect import (
    WAIT_S,
    connect,
    interruptible,
    limit_memory,
    require_database,
)
from orchestrator.store.database.open import open_current
from orchestrator.store.query.answer import (
    FAILED,
    NUMBER_BYTES,
    TIMEOUT_S,
    Answer,
    ShownAnswer,
    ShownRow,
    no_answer_within,
    plain_question,
    question_error,
    too_large,
)
from orchestrator.system.threads import InterruptibleThread
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 65_536
_PATIENCE_S = 2.0
"""Time for DuckDB to hear an interruption before a question is given up."""
_AS_TEXT = 16
"""Memory of a value as padded text, by that of the value."""
_HINT = 'ask with one SELECT, e.g. "SELECT * FROM benchmark_performance"'
_QUESTIONS = {"SELECT", "EXPLAIN", "MULTI"}
"""Statements that may be asked; PIVOT is a `MULTI`."""
_T = TypeVar("_T")


class QuestionLimits(TypedDict, total=False):
    """Limits of the time and the memory that DuckDB takes for an answer."""

    timeout_s: float | None
    """Seconds; None: for ever. Time in which nobody waits for DuckDB does not count."""
    memory_bytes: int | None
    """Bytes; None: a quarter of this machine's memory. It is the limit of all questions of this
    process to that file, as the newest of them sets it."""


def query(
    path: Path, sql: str, *, wait_s: float = WAIT_S, **limits: Unpack[QuestionLimits]
) -> pa.Table:
    """The answer to one statement, which reaches no other file and no setting."""
    with asking(path, sql, wait_s=wait_s, **limits) as answer:
        return answer.table()


def query_checked(path: Path, sql: str, **limits: Unpack[QuestionLimits]) -> pa.Table:
    """The same of a database whose schema was looked at, which takes as long as a question."""
    with _question(connect(path, read_only=True, wait_s=WAIT_S), limits) as question:
        return question.ask(sql, limits.get("memory_bytes")).table()


@contextmanager
def asking(
    path: Path, sql: str, *, wait_s: float = WAIT_S, **limits: Unpack[QuestionLimits]
) -> Iterator[Answer]:
    """The same answer, row by row as it is found, so that it need not fit into memory."""
    with _question(_checked(path, wait_s), limits) as question:
        yield question.ask(sql, limits.get("memory_bytes"))


@contextmanager
def showing(
    path: Path, sql: str, *, wait_s: float = WAIT_S, **limits: Unpack[QuestionLimits]
) -> Iterator[ShownAnswer]:
    """The same answer as a table shows it, whose rows are read as they are asked for."""
    with _question(_checked(path, wait_s), limits) as question:
        yield question.show(sql, limits.get("memory_bytes"))


def _checked(path: Path, wait_s: float) -> DuckDBPyConnection:
    require_database(path)
    connection, _ = open_current(path, read_only=True, wait_s=wait_s)
    return connection


@contextmanager
def _question(connection: DuckDBPyConnection, limits: QuestionLimits) -> Iterator[_Question]:
    question = _Question(connection, limits.get("timeout_s", TIMEOUT_S))
    try:
        yield question
    finally:
        question.close()


class _Question:
    """A question with its connection, which belongs to the thread that answers it."""

    def __init__(self, connection: DuckDBPyConnection, timeout_s: float | None) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._thread = InterruptibleThread(connection.interrupt, timeout_s, patience_s=_PATIENCE_S)
        self._owned = ExitStack()
        self._owned.enter_context(connection)
        self._errors: tuple[type[Exception], ...] = (duckdb.Error, OSError, MemoryError)

    def ask(self, sql: str, memory_bytes: int | None) -> Answer:
        import pyarrow as pa

        from orchestrator.store.query.formats import cast_for_arrow

        self._errors = (*self._errors, pa.ArrowException)
        most_bytes = self._wait_for(lambda: limit_memory(self._connection, memory_bytes))
        relation = self._wait_for(lambda: cast_for_arrow(self._relation(sql)))
        # Left open, the reader would let nobody open the file again.
        reader = self._wait_for(
            lambda: self._owned.enter_context(relation.to_arrow_reader(_BATCH_ROWS))
        )
        schema = pa.schema(map(pa.Field.with_name, reader.schema, _distinct(reader.schema.names)))
        return Answer(schema, self._batches(reader, schema), most_bytes)

    def show(self, sql: str, memory_bytes: int | None) -> ShownAnswer:
        most_bytes = self._wait_for(lambda: limit_memory(self._connection, memory_bytes))
        most_bytes //= _AS_TEXT
        relation = self._wait_for(lambda: self._relation(sql))
        plain = plain_question(relation)
        if plain is not None:
            self._wait_for(lambda: self._connection.execute(plain))
            return ShownAnswer(_distinct(relation.columns), self._rows(most_bytes))
        from orchestrator.store.query.formats import text_rows

        answer = self.ask(sql, memory_bytes)
        batches = answer.within(most_bytes)
        return ShownAnswer(answer.schema.names, chain.from_iterable(map(text_rows, batches)))

    def close(self) -> None:
        self._thread.close(self._owned.close)

    def _relation(self, sql: str) -> DuckDBPyRelation:
        require_question(self._connection, sql)
        return self._connection.sql(sql)

    def _rows(self, most_bytes: int) -> Iterator[ShownRow]:
        total = 0
        while rows := self._wait_for(lambda: self._connection.fetchmany(_BATCH_ROWS)):
            total += sum(  # as Arrow would count it
                len(value) if isinstance(value, str) else NUMBER_BYTES
                for row in rows
                for value in row
            )
            if total > most_bytes:
                raise too_large(most_bytes)
            yield from rows

    def _batches(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        while (batch := self._wait_for(lambda: next(reader, None))) is not None:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _wait_for(self, work: Callable[[], _T]) -> _T:
        with interruptible():
            try:
                return self._thread.wait_for(work)
            except TimeoutError as error:
                if self._timeout_s is None:
                    raise
                raise no_answer_within(self._timeout_s) from error
            except self._errors as error:
                raise question_error(error) from error


def require_question(connection: DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) > 1:
        raise UsageError(f"{FAILED}: these are {len(statements)} statements", hint=_HINT)
    if not statements:
        raise UsageError("the query has no result", hint=_HINT)
    kind = statements[0].type.name
    if kind not in _QUESTIONS:
        raise UsageError(
            f"{FAILED}: only SELECT-like statements are allowed here, not {kind}", hint=_HINT
        )


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
