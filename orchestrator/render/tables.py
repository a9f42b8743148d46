"""Rows as a table on a terminal, aligned plain text in a pipe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 400
"""Columns of a pipe: wide enough that nothing is cut."""


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under headings. Numbers are aligned to the right; None is shown as a dash."""
    console = _stdout_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    console.print(table)


def print_line(text: str = "") -> None:
    """Print one line of result on stdout, as it is."""
    sys.stdout.write(f"{text}\n")


def _stdout_console() -> Console:
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)
