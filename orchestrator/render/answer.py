"""The answer to a question, on a terminal or in a pipe."""

import sys
from pathlib import Path

from orchestrator.errors import MatrixError
from orchestrator.render.tables import print_table
from orchestrator.store import SUFFIXES, WRITERS, Answer, shown_rows

TABLE = "table"


def require_printable(form: str) -> None:
    """Insist that whoever reads stdout can read this format.

    Raises:
        MatrixError: a terminal would be given bytes.
    """
    if form == "parquet" and sys.stdout.isatty():
        raise MatrixError(
            "--format parquet: is bytes, and stdout a terminal",
            hint="name a file with `--output`, or send it through a pipe",
        )


def savable_form(form: str | None, path: Path) -> str:
    """The format that was asked for, or else that the file's name asks for.

    Raises:
        MatrixError: it is the one for the eye, or the name asks for none.
    """
    if form == TABLE:
        raise MatrixError(
            "--output: tables are for the screen", hint=f"`--format` takes {', '.join(WRITERS)}"
        )
    form = form or SUFFIXES.get(path.suffix.lower())
    if form is None:
        end = f"{path.suffix!r} says no format" if path.suffix else "says no format"
        raise MatrixError(
            f"--output {path}: {end}; names end with {', '.join(SUFFIXES)}",
            hint=f"name it so, or add `--format {'|'.join(WRITERS)}`",
        )
    return form


def print_answer(answer: Answer, form: str) -> None:
    """Print it; all formats but the table batch by batch, in UTF-8."""
    if form == TABLE:
        rows = [row for batch in answer.batches for row in shown_rows(batch)]
        print_table(answer.schema.names, rows)
        return
    sys.stdout.flush()
    WRITERS[form](answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()
