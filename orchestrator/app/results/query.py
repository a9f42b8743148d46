"""Questions in SQL: an answer to print, or a file of it."""

from contextlib import AbstractContextManager
from pathlib import Path

from orchestrator.store import SUFFIXES, WRITERS, Answer, asking, save_answer
from orchestrator.system.files import require_free
from runner.contract.errors import UsageError

TABLE = "table"
"""The format for the screen, which no file has."""


def ask_database(database: Path, sql: str) -> AbstractContextManager[Answer]:
    """The answer to a question, read while it is printed.

    Raises:
        StoreError: there is no database, it is in use, or the statement is wrong.
    """
    return asking(database, sql)


def save_query(
    database: Path, sql: str, output: Path, *, form: str | None = None, force: bool = False
) -> None:
    """Write the answer to a question into a file, whole or not at all.

    Raises:
        UsageError: the format is unknown, or the file exists and `force` does not allow to
            replace it.
        StoreError: the question cannot be answered, or the file not written.
    """
    form = file_format(form, output)
    require_free("--output", output, force=force, database=database)
    with asking(database, sql) as answer:
        save_answer(answer, form, output)


def file_format(form: str | None, path: Path) -> str:
    """The format requested, or else that of the file's name.

    Raises:
        UsageError: it is the one for the screen, or the name says none.
    """
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
