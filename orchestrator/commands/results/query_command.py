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
            from orchestrator.commands.results.relations import print_relations

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
        from orchestrator.commands.results.query_words import print_answer, print_shown
        from orchestrator.screen.streams import require_printable

        if form == TABLE:
            with show_answer(self.database_file, question.sql, self._limits) as shown:
                print_shown(shown, question)
            return
        require_printable(form)
        with ask_database(self.database_file, question.sql, self._limits) as answer:
            print_answer(answer, form)
