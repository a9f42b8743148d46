"""Errors of questions: those that whoever asks can mend, and those of the database."""

import re
from collections.abc import Mapping

from orchestrator.store.database.connect import duckdb_message
from orchestrator.system.text import format_duration, format_size
from runner.contract.errors import BenchError, StoreError, UsageError

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
    """The error of a question that takes too long."""
    return UsageError(
        f"{FAILED}: no answer within {format_duration(timeout_s)}",
        hint="ask for less, e.g. with WHERE, or give it longer: `--timeout 1h`, or `none`",
    )


def too_large(most_bytes: int) -> UsageError:
    """The error of an answer that would have to be held in memory as a whole."""
    return UsageError(
        f"{FAILED}: its answer takes more than {format_size(most_bytes)} of memory at once",
        hint="ask for fewer rows, or write them to a file: `--output answer.parquet`",
    )
