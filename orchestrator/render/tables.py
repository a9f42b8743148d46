"""Rows as a table on a terminal, aligned plain text in a pipe."""

import sys
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table

from orchestrator.render.lines import print_line
from orchestrator.system.text import escape_control_line

FOLDED_ROWS = 1000


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under headings. Numbers are aligned to the right; None is shown as a dash."""
    numeric = [
        any(isinstance(row[index], int | float) for row in rows) for index in range(len(columns))
    ]
    heads = [escape_control_line(column) for column in columns]
    texts = [[_text(value) for value in row] for row in rows]
    if sys.stdout.isatty() and len(rows) <= FOLDED_ROWS:
        _print_folded(heads, texts, numeric)
    else:
        _print_lines([heads, *texts], numeric)


def _print_folded(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]
) -> None:
    """Fit the terminal's width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, (column, is_numeric) in enumerate(zip(columns, numeric, strict=True)):
        # Folded, the name in front could be neither read nor copied.
        whole = index == 0 and not is_numeric
        side: JustifyMethod = "right" if is_numeric else "left"
        table.add_column(column, justify=side, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*row)
    Console(markup=False, emoji=False, highlight=False).print(table)


def _print_lines(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    """One line per row, however long: for pipes, and for more rows than a screen folds well."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            " " * (width - cell_len(text)) + text
            if is_numeric
            else text + " " * (width - cell_len(text))
            for text, width, is_numeric in zip(row, widths, numeric, strict=True)
        )
        print_line("  ".join(padded).rstrip())


def format_number(value: float) -> str:
    """Three digits where that loses nothing before the point: `0.0123`, `12.3`, `1,234`."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _text(value: object) -> str:
    if value is None:
        return "–"
    return format_number(value) if isinstance(value, float) else escape_control_line(str(value))
