"""Questions in SQL: an answer to print, or a file of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from psutil import virtual_memory

from orchestrator.store.database.connect import QUESTION_MEMORY_SHARE
from orchestrator.store.query.ask import QuestionLimits, asking, showing
from orchestrator.store.query.relations import named_question
from orchestrator.system.files import require_free
from orchestrator.system.memory import limited_growth
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.store.query.ask import Answer, ShownAnswer

TABLE = "table"
"""The format for the screen, which no file has."""
_UNCOUNTED = 2
"""Memory of a question by that which DuckDB counts, which leaves out long texts and lists."""
_OWN_BYTES = 512 * 2**20
"""Memory for all else, such as a table for the screen."""


@dataclass(frozen=True)
class Question:
    """A question in SQL, as it is asked and shown."""

    sql: str
    left_out: int = 0
    """Columns of the view or table that are not asked for."""
    may_shrink: bool = False
    """True if columns may give way to a narrow terminal, since nobody named them."""

    @classmethod
    def of(cls, text: str, *, wide: bool) -> Self:
        """The question of a statement or a name; `wide` takes all columns of a name."""
        named = named_question(text, wide=wide)
        return cls(text) if named is None else cls(named.sql, named.left_out, not wide)


@contextmanager
def ask_database(database: Path, sql: str, limits: QuestionLimits) -> Iterator[Answer]:
    """The answer to a question, read while it is written.

    Memory that DuckDB does not count is limited too, for this process as a whole.
    """
    with _limited(limits), asking(database, sql, **limits) as answer:
        yield answer


@contextmanager
def show_answer(database: Path, sql: str, limits: QuestionLimits) -> Iterator[ShownAnswer]:
    """The same for the screen."""
    with _limited(limits), showing(database, sql, **limits) as answer:
        yield answer


def _limited(limits: QuestionLimits) -> AbstractContextManager[None]:
    memory_bytes = limits.get("memory_bytes") or int(virtual_memory().total * QUESTION_MEMORY_SHARE)
    return limited_growth(_UNCOUNTED * memory_bytes + _OWN_BYTES)


def save_query(
    database: Path,
    sql: str,
    output: Path,
    limits: QuestionLimits,
    *,
    form: str | None = None,
    force: bool = False,
) -> None:
    """Write the answer to a question into a file, whole or not at all."""
    from orchestrator.store.query.formats import save_answer

    form = file_format(form, output)
    require_free("--output", output, force=force, database=database)
    with ask_database(database, sql, limits) as answer:
        save_answer(answer, form, output)


def file_format(form: str | None, path: Path) -> str:
    """The format requested, or else that of the file's name."""
    from orchestrator.store.query.formats import SUFFIXES, WRITERS

    if form == TABLE:
        raise UsageError(
            "--output: tables are for the screen", hint=f"`--format` takes {', '.join(WRITERS)}"
        )
    form = form or SUFFIXES.get(path.suffix.lower())
    if form is None:
        end = f"{path.suffix!r} says no format" if path.suffix else "says no format"
        raise UsageError(
            f"--output {path}: {end}; names end with {', '.join(SUFFIXES)}",
            hint=f"name it so, or add `--format {'|'.join(WRITERS)}`",
        )
    return form
