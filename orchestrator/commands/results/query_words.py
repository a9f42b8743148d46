"""Answers of `query`, on a terminal or in a pipe."""

import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from analysis.results.table import Field
from orchestrator.screen.lines import print_line
from orchestrator.screen.remarks import Remark, remark_lines
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import escape_control

if TYPE_CHECKING:
    from orchestrator.commands.results.query import Question
    from orchestrator.store.query.answer import Answer, ShownAnswer


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
