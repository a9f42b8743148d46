"""Rows as a table on a terminal, aligned plain text in a pipe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 1_000_000
"""Columns of a pipe: wide enough that no row is folded."""


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under headings. Numbers are aligned to the right; None is shown as a dash."""
    console = _stdout_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    with console.capture() as shown:
        console.print(table)
    sys.stdout.write(shown.get())


def print_line(text: str = "") -> None:
    """Print one line of result on stdout, as it is."""
    sys.stdout.write(f"{text}\n")


def format_number(value: float) -> str:
    """Three digits where that loses nothing before the point: `0.0123`, `12.3`, `1,234`."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _stdout_console() -> Console:
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def _text(value: object) -> str:
    if value is None:
        return "–"
    return format_number(value) if isinstance(value, float) else str(value)
