"""`query`: the database asked in SQL."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import AnswerFormat, database_in
from orchestrator.commands.program.completion import complete_view
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.results.query import Question
    from orchestrator.store import QuestionLimits


def query_command(
    sql: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL|NAME",
            help="One statement, read-only, or a name of a view or table.  [default: list them]",
            show_default=False,
            autocompletion=complete_view,
        ),
    ] = None,
    format_: Annotated[
        AnswerFormat | None,
        typer.Option(
            "--format",
            metavar=options.one_of(AnswerFormat),
            help="[default: what FILE's name says, else table]",
        ),
    ] = None,
    output: options.Output = None,
    force: options.Force = False,
    wide: options.Wide = False,
    timeout: Annotated[
        str,
        typer.Option("--timeout", metavar="TIME", help="Give up after this long; none: never."),
    ] = "5m",
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="Memory to take, e.g. 8GiB.  [default: a quarter]"
        ),
    ] = None,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Ask the database in SQL, or show a view by its name."""
    from orchestrator.commands.results.query import TABLE, Question, save_query
    from orchestrator.system.files import is_stdout

    if sql is None:
        from orchestrator.commands.results.relations import print_relations

        print_relations(as_json=json)
        return
    path = database_in(results, database)
    form = options.answer_format(format_, as_json=json)
    to_screen = form in {None, TABLE} and (output is None or is_stdout(output))
    question = Question.of(sql, wide=wide or not to_screen)
    limits: QuestionLimits = {
        "timeout_s": _timeout_s(timeout),
        "memory_bytes": options.parse_bytes(memory, "--memory"),
    }
    if output is not None and not is_stdout(output):
        save_query(path, question.sql, output, limits, form=form, force=force)
    else:
        _print(path, question, limits, form or TABLE)


def _print(path: Path, question: "Question", limits: "QuestionLimits", form: str) -> None:
    from orchestrator.commands.results.query import TABLE, ask_database, show_answer
    from orchestrator.commands.results.query_words import (
        print_answer,
        print_shown,
    )
    from orchestrator.screen.streams import require_printable

    if form == TABLE:
        with show_answer(path, question.sql, limits) as shown:
            print_shown(shown, question)
        return
    require_printable(form)
    with ask_database(path, question.sql, limits) as answer:
        print_answer(answer, form)


def _timeout_s(text: str) -> float | None:
    """The limit in seconds; None for `none` and 0."""
    return (options.parse_seconds(text, "--timeout") or None) if text != "none" else None
