"""`query`: the database asked in SQL."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_view
from orchestrator.system.options import (
    Force,
    Json,
    Output,
    Wide,
    asked_format,
    bytes_parser,
    choice,
    parser_of,
)
from orchestrator.system.text import parse_duration

if TYPE_CHECKING:
    from orchestrator.commands.results.query import Question
    from orchestrator.store.query.ask import QuestionLimits
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from analysis.results.table import Field
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.remarks import Remark, remark_lines
from orchestrator.screen.tables import print_lines
from orchestrator.store.query.relations import RELATIONS
from orchestrator.store.schema.views import VIEWS
from orchestrator.system.text import escape_control

if TYPE_CHECKING:
    from orchestrator.commands.results.query import Question
    from orchestrator.store.query.ask import Answer, ShownAnswer


class _TerminalText(BytesIO):
    """Text on its way to the terminal."""

    def write(self, content: Any, /) -> int:
        text = escape_control(bytes(content).decode())
        return sys.stdout.buffer.write(text.encode())


def print_shown(answer: "ShownAnswer", question: "Question") -> None:
    """Print an answer as a table.

    A terminal that cannot hold the columns of a statement shows one a line, and leaves out none.
    Below failures stand their reasons, for which no column has the room.
    """
    columns = [Field(name, essential=not question.may_shrink) for name in answer.names]
    rows = list(answer.rows)
    print_lines(columns, rows, beyond=question.left_out)
    if question.may_shrink and sys.stdout.isatty():
        for line in _reason_lines(answer.names, rows):
            print_line(line)


def _reason_lines(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The reasons of verdicts with their remedies, where the answer has them."""
    if not {"status", "reason", "remedy"} <= {*names}:
        return
    status, reason, remedy = map(names.index, ("status", "reason", "remedy"))
    remarks = [
        Remark(None, f"{row[status]}: {row[reason]}", (row[status], row[reason]), row[remedy])
        for row in rows
    ]
    yield from remark_lines(remarks, len(rows), "rows")


def print_answer(answer: "Answer", form: str) -> None:
    """Print an answer in another format, batch by batch, in UTF-8.

    What would steer a terminal is escaped there; files and pipes get every value as it is.
    """
    from orchestrator.store.query.formats import WRITERS

    sys.stdout.flush()
    WRITERS[form](answer, _TerminalText() if sys.stdout.isatty() else sys.stdout.buffer)
    sys.stdout.buffer.flush()


def print_relations(*, as_json: bool) -> None:
    """Print what can be asked for by its name, views before tables."""
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


_Format = Literal["table", "csv", "json", "parquet", "markdown"]


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
    format_: Annotated[
        _Format | None,
        choice(_Format, "--format", help="[default: what FILE's name says, else table]"),
    ] = None
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
        """Show or write the answer."""
        from orchestrator.commands.results.query import TABLE, Question, save_query
        from orchestrator.system.files import is_stdout

        if self.sql is None:
            print_relations(as_json=self.json)
            return
        form = asked_format(self.format_, as_json=self.json)
        to_screen = form in {None, TABLE} and (self.output is None or is_stdout(self.output))
        question = Question.of(self.sql, wide=self.wide or not to_screen)
        if self.output is not None and not is_stdout(self.output):
            path, output = self.database_file, self.output
            save_query(path, question.sql, output, self._limits, form=form, force=self.force)
        else:
            self._print(question, form or TABLE)

    @property
    def _limits(self) -> "QuestionLimits":
        return {"timeout_s": self.timeout_s, "memory_bytes": self.memory_bytes}

    def _print(self, question: "Question", form: str) -> None:
        from orchestrator.commands.results.query import TABLE, ask_database, show_answer
        from orchestrator.screen.streams import require_printable

        if form == TABLE:
            with show_answer(self.database_file, question.sql, self._limits) as shown:
                print_shown(shown, question)
            return
        require_printable(form)
        with ask_database(self.database_file, question.sql, self._limits) as answer:
            print_answer(answer, form)
