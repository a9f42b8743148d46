"""`query`: the database asked in SQL, the answer printed or written into a file."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer
from psutil import virtual_memory

from analysis.results.table import Field
from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_view
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.remarks import Remark, remark_lines
from orchestrator.screen.tables import print_lines
from orchestrator.store.database.connect import QUESTION_MEMORY_SHARE
from orchestrator.store.query.ask import QuestionLimits, asking, showing
from orchestrator.store.query.relations import RELATIONS, named_question
from orchestrator.store.schema.views import VIEWS
from orchestrator.system.files import is_stdout, require_free
from orchestrator.system.memory import limited_growth
from orchestrator.system.options import (
    Force,
    Json,
    Output,
    Wide,
    asked_format,
    bytes_parser,
    format_choice,
    parser_of,
)
from orchestrator.system.text import escape_control, parse_duration
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.store.query.answer import Answer, ShownAnswer

_TABLE = "table"
_UNCOUNTED = 2
"""Memory of a question by that which DuckDB counts, which leaves out long texts and lists."""
_OWN_BYTES = 512 * 2**20
"""Memory for all else, such as a table for the screen."""
_Format = Literal["table", "csv", "json", "parquet", "markdown"]


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
        named = named_question(text, wide=wide)
        return cls(text) if named is None else cls(named.sql, named.left_out, not wide)


@contextmanager
def _limited(limits: QuestionLimits) -> Iterator[None]:
    """Limit memory that DuckDB does not count too, for this process as a whole."""
    memory_bytes = limits.get("memory_bytes") or int(virtual_memory().total * QUESTION_MEMORY_SHARE)
    with limited_growth(_UNCOUNTED * memory_bytes + _OWN_BYTES):
        yield


def file_format(form: str | None, path: Path) -> str:
    from orchestrator.store.query.formats import SUFFIXES, WRITERS

    if form == _TABLE:
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


class _TerminalText(BytesIO):
    """Text on its way to the terminal."""

    def write(self, content: Any, /) -> int:
        return sys.stdout.buffer.write(escape_control(bytes(content).decode()).encode())


def print_shown(answer: "ShownAnswer", question: Question) -> None:
    """Print an answer as a table, and below failures the reasons that no column has room for."""
    columns = [Field(name, essential=not question.may_shrink) for name in answer.names]
    rows = list(answer.rows)
    print_lines(columns, rows, beyond=question.left_out)
    if question.may_shrink and sys.stdout.isatty():
        for line in _reason_lines(answer.names, rows):
            print_line(line)


def _reason_lines(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    if not {"status", "reason", "remedy"} <= {*names}:
        return
    status, reason, remedy = map(names.index, ("status", "reason", "remedy"))
    remarks = [
        Remark(None, f"{row[status]}: {row[reason]}", (row[status], row[reason]), row[remedy])
        for row in rows
    ]
    yield from remark_lines(remarks, len(rows), "rows")


def print_answer(answer: "Answer", form: str) -> None:
    """Print an answer in another format, batch by batch; a terminal gets no control characters."""
    from orchestrator.store.query.formats import WRITERS

    sys.stdout.flush()
    WRITERS[form](answer, _TerminalText() if sys.stdout.isatty() else sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _print_relations(*, as_json: bool) -> None:
    if as_json:
        print_json([{"name": relation.name, "use": relation.use} for relation in RELATIONS])
        return
    views = {view.name for view in VIEWS}
    for heading, is_view in (("view", True), ("table", False)):
        rows = [
            (relation.name, relation.use)
            for relation in RELATIONS
            if (relation.name in views) == is_view
        ]
        print_lines([Field(heading, essential=True), Field("rows", wraps=True)], rows)
        print_line()
    print_line("orchestrator query latest_results: the most useful columns; --wide: all of them")
    print_line('orchestrator query "SELECT …": any question in SQL, read-only')


def _limit(value: object) -> float | None:
    """The limit in seconds; None for `none` and 0."""
    return None if value == "none" else parse_duration(value) or None


@dataclass(frozen=True, kw_only=True)
class QueryCommand(DatabaseChoice, Command):
    """Ask the database in SQL, or show a view by its name."""

    sql: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL|NAME",
            help="One statement, read-only, or a name of a view or table.  [default: list them]",
            show_default=False,
            autocompletion=complete_view,
        ),
    ] = None
    format_: Annotated[_Format | None, format_choice(_Format)] = None
    output: Output = None
    force: Force = False
    wide: Wide = False
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Give up after this long; none: never.  [default: 5m]",
            show_default=False,
            parser=parser_of(_limit),
        ),
    ] = 300.0
    memory_bytes: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory to take, e.g. 8GiB.  [default: a quarter]",
            parser=bytes_parser,
        ),
    ] = None
    json: Json = False

    def execute(self) -> None:
        if self.sql is None:
            _print_relations(as_json=self.json)
            return
        form = asked_format(self.format_, as_json=self.json)
        file = None if self.output is None or is_stdout(self.output) else self.output
        to_screen = form in {None, _TABLE} and file is None
        question = Question.of(self.sql, wide=self.wide or not to_screen)
        if file is None:
            self._print(question, form or _TABLE)
        else:
            self._save(question, form, file)

    @property
    def _limits(self) -> QuestionLimits:
        return {"timeout_s": self.timeout_s, "memory_bytes": self.memory_bytes}

    def _save(self, question: Question, form: str | None, file: Path) -> None:
        from orchestrator.store.query.formats import save_answer

        form, database, limits = file_format(form, file), self.database_file, self._limits
        require_free("--output", file, force=self.force, database=database)
        with _limited(limits), asking(database, question.sql, **limits) as answer:
            save_answer(answer, form, file)

    def _print(self, question: Question, form: str) -> None:
        from orchestrator.screen.streams import require_printable

        database, limits = self.database_file, self._limits
        if form == _TABLE:
            with _limited(limits), showing(database, question.sql, **limits) as shown:
                print_shown(shown, question)
            return
        require_printable(form)
        with _limited(limits), asking(database, question.sql, **limits) as answer:
            print_answer(answer, form)
