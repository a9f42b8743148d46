"""The answer to a question, on a terminal or in a pipe."""

import sys

from orchestrator.errors import MatrixError
from orchestrator.render.tables import print_table
from orchestrator.store import WRITERS, Answer, shown_rows

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


def require_savable(form: str) -> None:
    """Insist that a file can hold this format.

    Raises:
        MatrixError: it is the one for the eye.
    """
    if form == TABLE:
        raise MatrixError(
            "--output: tables are for the screen", hint=f"add `--format {'|'.join(WRITERS)}`"
        )


def print_answer(answer: Answer, form: str) -> None:
    """Print it; all formats but the table batch by batch, in UTF-8."""
    if form == TABLE:
        rows = [row for batch in answer.batches for row in shown_rows(batch)]
        print_table(answer.schema.names, rows)
        return
    sys.stdout.flush()
    WRITERS[form](answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()
