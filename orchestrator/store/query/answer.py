"""Answers to questions, as Arrow has them and as the screen shows them; errors of both."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duckdb import DuckDBPyRelation

from orchestrator.store.database.connect import duckdb_message
from orchestrator.system.text import format_duration, format_size
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
NUMBER_BYTES = 8


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
