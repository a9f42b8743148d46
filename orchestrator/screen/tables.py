"""Rows as a table that fits the terminal, or whole in a pipe; the course of numbers in a cell."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TextIO

from analysis.results.table import Field, Table, is_number, table_of
from orchestrator.screen.lines import print_data, print_line
from orchestrator.screen.wrapping import cell_width, longest_part, terminal_width, wrap
from orchestrator.system.text import escape_control_line, plural

_GAP = "  "
_LEAST_WRAPPED = 20
"""Columns that a wrapped text gets at least: narrower, it is tiring to read."""

_MOST_NAMED = 6
"""Columns that are named where they are left out; more are counted alone."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = "_.-~=+*#"
"""The same levels in ASCII."""
MOST_LETTERS = 24
"""Letters of a course."""


@dataclass(frozen=True)
class _Grid:
    """Headings and rows as text."""

    columns: Sequence[Field]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    widths: Sequence[int]


def print_lines(
    columns: Sequence[str | Field],
    lines: Sequence[Sequence[object]],
    *,
    wide: bool = False,
    beyond: int = 0,
) -> None:
    """Print lines under headings, as `print_table` does."""
    print_table(table_of(columns, lines), wide=wide, beyond=beyond)


def print_table(table: Table, *, wide: bool = False, beyond: int = 0) -> None:
    """Print rows under headings: numbers stand right, None is shown as a dash.

    On a terminal that is too narrow, columns that are not essential are left out from the right,
    and counted below; with `wide`, none is. If that is not enough, texts wrap where their column
    allows it; else every row is printed with one column a line. Columns `beyond` these, which the
    question has and the caller left out, are counted too.
    """
    grid = _grid(table)
    width = terminal_width(sys.stdout)
    if width is None:
        _print_rows(grid, dict(enumerate(grid.widths)))
        _print_left_out([], beyond)
        return
    choices = _choices(grid, wide=wide)
    natural = ({index: grid.widths[index] for index in kept} for kept in choices)
    wrapped = (_wrapped_widths(grid, kept, width) for kept in choices)
    widths = next((widths for widths in (*natural, *wrapped) if _fits(widths, width)), None)
    if widths is None:
        _print_records(grid, width)
        _print_left_out([], beyond)
        return
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    _print_rows(grid, widths, bold=not is_plain)
    absent = [heading for index, heading in enumerate(grid.headings) if index not in widths]
    _print_left_out(absent, beyond)


def cell_text(field: Field, row: Mapping[str, object]) -> str:
    """A value as tables show it on one line, with nothing in it that steers a terminal."""
    return escape_control_line(field.text(row))


def _grid(table: Table) -> _Grid:
    fields = table.columns
    headings = [escape_control_line(field.title) for field in fields]
    texts = [[cell_text(field, row) for field in fields] for row in table.rows]
    right = [stands_right(field, table) for field in fields]
    widths = [max(map(cell_width, column)) for column in zip(headings, *texts, strict=True)]
    return _Grid(fields, headings, texts, right, widths)


def stands_right(field: Field, table: Table) -> bool:
    """True for a column of numbers, whatever its field says."""
    return field.stands_right or any(is_number(field.value(row)) for row in table.rows)


def _choices(grid: _Grid, *, wide: bool) -> list[list[int]]:
    """The columns to print, first all of them, then fewer and fewer from the right."""
    choices = [list(range(len(grid.columns)))]
    for index in reversed(choices[0]):
        if not (wide or grid.columns[index].essential):
            choices.append([other for other in choices[-1] if other != index])
    return [choice for choice in choices if choice]


def _fits(widths: Mapping[int, int], width: int) -> bool:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1) <= width


def _wrapped_widths(grid: _Grid, kept: Sequence[int], width: int) -> dict[int, int]:
    """The width of each column, where texts that may wrap share what the others leave."""
    widths = {index: grid.widths[index] for index in kept}
    wrapping = [index for index in kept if grid.columns[index].wraps]
    widths |= {index: _least_width(grid, index) for index in wrapping}
    while _fits(widths, width - 1):
        growing = [index for index in wrapping if widths[index] < grid.widths[index]]
        if not growing:
            break
        widths[min(growing, key=lambda index: widths[index])] += 1  # so that rows stay low
    return widths


def _least_width(grid: _Grid, index: int) -> int:
    """The width of a column whose texts are wrapped, none of their parts broken."""
    texts = (grid.headings[index], *(row[index] for row in grid.rows))
    part = max(map(longest_part, texts)) + _hang(index)
    return max(part, min(grid.widths[index], _LEAST_WRAPPED))


def _hang(index: int) -> int:
    """Columns by which wrapped lines are indented: those of a row's name alone."""
    return len(_GAP) if index == 0 else 0


def _print_rows(grid: _Grid, widths: Mapping[int, int], *, bold: bool = False) -> None:
    """One line a row, or as many as its wrapped texts take."""
    for number, row in enumerate((grid.headings, *grid.rows)):
        style = ("\x1b[1m", "\x1b[0m") if bold and number == 0 else ("", "")
        cells = [_lines(row[index], width, index) for index, width in widths.items()]
        for level in range(max(map(len, cells))):
            texts = [lines[level] if level < len(lines) else "" for lines in cells]
            padded = (
                _pad(text, width, right=grid.right[index])
                for text, (index, width) in zip(texts, widths.items(), strict=True)
            )
            print_data(_GAP.join(padded).rstrip(), style)


def _lines(text: str, width: int, index: int) -> list[str]:
    return [text] if cell_width(text) <= width else wrap(text, width, " " * _hang(index))


def _pad(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


def _print_records(grid: _Grid, width: int) -> None:
    margin = max(map(cell_width, grid.headings))
    room = max(width - margin - 2 * len(_GAP), _LEAST_WRAPPED)
    for number, row in enumerate(grid.rows, start=1):
        print_line(f"row {number:,} of {len(grid.rows):,}")
        for heading, text in zip(grid.headings, row, strict=True):
            first, *others = wrap(text, room, "")
            start = _start(first, margin, width)
            beside = heading if cell_width(heading) <= start else ""
            if beside != heading:  # together they would be too wide
                print_data(f"{_GAP}{heading}")
            print_data(f"{_GAP}{_pad(beside, start, right=False)}{_GAP}{first}".rstrip())
            for line in others:
                print_data(f"{_GAP}{' ' * _start(line, margin, width)}{_GAP}{line}")
    if not grid.rows:
        print_line(f"no row; columns: {', '.join(grid.headings)}")


def _start(text: str, margin: int, width: int) -> int:
    """The room before a value; less than the margin if it cannot be broken and is too wide."""
    return max(min(margin, width - cell_width(text) - 2 * len(_GAP)), 0)


def _print_left_out(headings: Sequence[str], beyond: int) -> None:
    count = len(headings) + beyond
    if count:
        named = not beyond and count <= _MOST_NAMED
        names = f": {', '.join(headings)}" if named else ""
        print_line(f"{count} {plural(count, 'column')} left out{names} (--wide)")


def sparkline(values: Sequence[float], *, blocks: bool, width: int = MOST_LETTERS) -> str:
    """The values as letters from the least to the greatest, means of neighbours where many."""
    if not values:
        return ""
    letters = _BLOCKS if blocks else _PLAIN
    if len(values) > width:
        edges = [round(number * len(values) / width) for number in range(width + 1)]
        values = [sum(values[start:end]) / (end - start) for start, end in pairwise(edges)]
    low, high = min(values), max(values)
    if high <= low:
        return letters[len(letters) // 2 - 1] * len(values)
    step = (high - low) / len(letters)
    return "".join(letters[min(int((value - low) / step), len(letters) - 1)] for value in values)


def has_blocks(stream: TextIO) -> bool:
    """True if a terminal can show block letters; pipes and plain encodings get ASCII."""
    try:
        _BLOCKS.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return stream.isatty()
