"""Questions in SQL, asked on a connection that cannot change the database, and their answers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from orchestrator.store.database.connect import (
    WAIT_S,
    duckdb_message,
    interruptible,
    limit_memory,
    require_database,
)
from orchestrator.store.database.open import open_current
from orchestrator.system.text import format_duration, format_size
from orchestrator.system.threads import InterruptibleThread
from runner.contract.errors import BenchError, StoreError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

ShownRow = tuple[Any, ...]
TIMEOUT_S = 300.0
"""Time for DuckDB to answer a question if nothing else is said."""
FAILED = "the query failed"
_NAMES = "`orchestrator query` lists views and tables; `query NAME --wide` shows all columns of one"
_VALUES = "correct the expression; `TRY_CAST(… AS …)` and `TRY(…)` give null where that fails"
_LESS = "ask for fewer rows or columns, or group them; `--memory` gives it more"
_AMBIGUOUS = "Ambiguous reference"
_BOTH_SIDES = (
    "both sides of the join have it: name the side, as in `history.model`, or leave the join out:"
    " views of a mode have all columns of `benchmark_performance`"
)
_HINTS: Mapping[str, str] = {
    "Binder": _NAMES,
    "Catalog": _NAMES,
    "Conversion": _VALUES,
    "Out of Range": _VALUES,
    "Invalid Input": _VALUES,
    "Out of Memory": _LESS,
    "Permission": "a question reads this database alone",
}
"""By what DuckDB's message begins with."""
_OTHERWISE = "`orchestrator query latest_results` shows results without SQL"
_KIND = re.compile(r"([A-Za-z ]+) Error: ")
_OF_THE_DATABASE = frozenset({"IO", "INTERNAL", "FATAL", "Serialization", "Connection"})
_DAMAGE = (
    "`orchestrator database check` looks for damage, and `orchestrator database restore` goes back"
)
_ADVICE = "\nPossible solutions:"
"""DuckDB's advice names settings, which are locked here."""
_SPACE = "free some space for temporary files, or name another folder for them in TMPDIR"
_WHOLE = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_PLAIN: Mapping[str, str] = {
    **dict.fromkeys([*_WHOLE, *(f"u{name}" for name in _WHOLE)], "#{}"),
    **dict.fromkeys(["double", "varchar", "null"], "#{}"),
    "boolean": "#{}::VARCHAR",
    "timestamp with time zone": (
        "replace(strftime(#{}, '%Y-%m-%dT%H:%M:%S.%f+00:00'), '.000000+', '+')"
    ),
}
"""Types whose values Python and DuckDB show alike, and the expression of a column that does."""
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Answer:
    """The answer to a question. It can be read once, while its connection is open."""

    schema: pa.Schema
    """Its columns; no two have the same name."""
    batches: Iterator[pa.RecordBatch]
    """Its rows, some thousands at a time."""
    most_bytes: int = sys.maxsize

    def table(self) -> pa.Table:
        from pyarrow import Table

        return Table.from_batches(list(self.within(self.most_bytes)), self.schema)

    def within(self, most_bytes: int) -> Iterator[pa.RecordBatch]:
        """Its rows, for somebody who keeps them all."""
        total = 0
        for batch in self.batches:
            total += batch.nbytes
            if total > most_bytes:
                raise too_large(most_bytes)
            yield batch


@dataclass(frozen=True)
class ShownAnswer:
    """The answer to a question, as a table shows it. It can be read once.

    Plain values come without Arrow, which takes longer to load than they do; other types become
    text as in files.
    """

    names: Sequence[str]
    """Its columns; no two have the same name."""
    rows: Iterator[ShownRow]
    """Numbers as they are, and text; they take no more memory than a question may."""


def plain_question(relation: DuckDBPyRelation) -> str | None:
    """The question that gives plain values; None if one of its columns has others."""
    kinds = [type_.id for type_ in relation.types]
    if not _PLAIN.keys() >= set(kinds):
        return None
    columns = [_PLAIN[kind].format(number) for number, kind in enumerate(kinds, 1)]
    return relation.project(", ".join(columns)).sql_query()


def question_error(error: Exception) -> BenchError:
    """The error of DuckDB or Arrow as one that the user can act on, in one line."""
    if isinstance(error, MemoryError):
        return UsageError(f"{FAILED}: not enough memory for its answer", hint=_LESS)
    message = duckdb_message(error).partition(_ADVICE)[0].replace("\n", " ")
    match = _KIND.match(message)
    kind = match[1] if match else ""
    if kind in _OF_THE_DATABASE:
        hint = _SPACE if "No space left" in message else _DAMAGE
        return StoreError(f"{FAILED}: {message}", hint=hint)
    hint = _BOTH_SIDES if _AMBIGUOUS in message else _HINTS.get(kind, _OTHERWISE)
    return UsageError(f"{FAILED}: {message}", hint=hint)


def no_answer_within(timeout_s: float) -> UsageError:
    return UsageError(
        f"{FAILED}: no answer within {format_duration(timeout_s)}",
        hint="ask for less, e.g. with WHERE, or give it longer: `--timeout 1h`, or `none`",
    )


def too_large(most_bytes: int) -> UsageError:
    return UsageError(
        f"{FAILED}: its answer takes more than {format_size(most_bytes)} of memory at once",
        hint="ask for fewer rows, or write them to a file: `--output answer.parquet`",
    )


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


@contextmanager
def asking(
    path: Path, sql: str, *, wait_s: float = WAIT_S, **limits: Unpack[QuestionLimits]
) -> Iterator[Answer]:
    """The same answer, row by row as it is found, so that it need not fit into memory."""
    with _question(path, wait_s, limits) as question:
        yield question.ask(sql, limits.get("memory_bytes"))


@contextmanager
def showing(
    path: Path, sql: str, *, wait_s: float = WAIT_S, **limits: Unpack[QuestionLimits]
) -> Iterator[ShownAnswer]:
    """The same answer as a table shows it, whose rows are read as they are asked for."""
    with _question(path, wait_s, limits) as question:
        yield question.show(sql, limits.get("memory_bytes"))


@contextmanager
def _question(path: Path, wait_s: float, limits: QuestionLimits) -> Iterator[_Question]:
    require_database(path)
    connection, _ = open_current(path, read_only=True, wait_s=wait_s)
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
                len(value) if isinstance(value, str) else _NUMBER_BYTES
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
    """Insist that this is one statement that only asks."""
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
