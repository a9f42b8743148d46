"""The cells to measure next: as a table with what is expected of them, and as a matrix."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.results.table import Field, Table
from orchestrator.commands.recommend.next_cells import NextCells
from orchestrator.matrix import cells_text
from orchestrator.screen.sheet import Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration, plural
from runner.contract.axes import AXIS_NAMES

_FIELDS = (
    Field("cell", essential=True, wraps=True),
    Field("seconds", "takes", right=True, shown=lambda seconds: format_duration(round(seconds))),
    Field("seconds_by", "estimated"),
    Field(
        "interval_share",
        "interval then",
        essential=True,
        right=True,
        shown=lambda share: None if share is None else f"{share:.0%}",
    ),
    *(Field(name, hidden=True) for name in AXIS_NAMES),
)
_MOST_REASONS = 3
_EXAMPLE = "next.yaml"


def proposed_matrix_text(answer: NextCells, path: Path | None) -> str:
    """The matrix with the proposed cells alone; JSON for a file of that name, else YAML."""
    if path is not None and path.suffix == ".json":
        import json

        return json.dumps(answer.document, indent=2) + "\n"
    count = len(answer.cells)
    comment = f"{count:,} {plural(count, 'cell')} of {answer.matrix} to measure next"
    return cells_text(answer.document, comment)


def next_sheet(answer: NextCells, written: Path | None = None) -> Sheet:
    """The proposed cells, the most helpful first.

    Args:
        answer: the cells.
        written: the file with their matrix, if there is one.
    """
    rows = [_row(answer, number) for number in range(len(answer.cells))]
    title = f"Cells of {answer.matrix} to measure next, the most helpful first"
    notes = (*_answer(answer), *_trust(answer), *_next(answer, written))
    return Sheet(title, [Table(title, _FIELDS, rows)], notes, _data(answer, rows))


def _row(answer: NextCells, number: int) -> dict[str, Any]:
    proposed = answer.cells[number]
    cell = proposed.entry.cell
    return {
        "cell": cell.id,
        "seconds": proposed.entry.estimate_s + proposed.entry.launch_s,
        "seconds_by": proposed.entry.estimated_by,
        "interval_share": proposed.interval_share,
        **{name: getattr(cell, name) for name in AXIS_NAMES},
    }


def _answer(answer: NextCells) -> Iterator[str]:
    count, left = len(answer.cells), answer.candidates - len(answer.cells)
    these = "this cell" if count == 1 else f"these {count:,} cells"
    time = f"Measuring {these} takes about {format_duration(round(answer.seconds))}"
    share = answer.cells[-1].interval_share
    if share is not None:
        now = f", now a factor of {answer.interval:.2f}," if answer.interval else ""
        narrowed = f"{1 - share:.0%}" if share < 0.995 else "less than 1 %"
        yield (
            f"{time}, and should narrow the mean 90 % interval of the other {left:,}"
            f" {plural(left, 'cell')}{now} by {narrowed}."
        )
    else:
        yield f"{time}; then nothing of the matrix is left to measure."
    total = answer.measured + answer.candidates
    yield (
        f"Of {total:,} {plural(total, 'cell')} that can be measured here {answer.measured:,}"
        f" {'is' if answer.measured == 1 else 'are'} measured now, and"
        f" {answer.measured + count:,} then ({(answer.measured + count) / total:.0%})."
    )


def _trust(answer: NextCells) -> Iterator[str]:
    if not answer.examples:
        yield "Nothing was measured that predictions could rest on: these cells spread over all."
    else:
        intervals = " and from intervals as they are now" if answer.interval else ""
        yield f"The narrowing is expected from how cells resemble each other{intervals}."
    if answer.weighed < answer.candidates:
        yield f"{answer.weighed:,} of {answer.candidates:,} cells, drawn at random, were weighed."
    if answer.left_out:
        parts = [f"{count:,} {_words(reason)}" for reason, count in answer.left_out.items()]
        more = sum([*answer.left_out.values()][_MOST_REASONS:])
        others = [f"{more:,} for other reasons"] if more else []
        yield f"Left out: {', '.join([*parts[:_MOST_REASONS], *others])}."
    yield from answer.faults


def _words(reason: str) -> str:
    """The reason behind a number of cells; the plan's status tells why it skips them."""
    return {"out_of_memory": "that cannot fit into memory"}.get(reason, reason)


def _next(answer: NextCells, written: Path | None) -> Iterator[str]:
    where = database_option(answer.database)
    if written is not None:
        yield f"{written} has them: `{shlex.join(['orchestrator', 'run', str(written), *where])}`"
        return
    command = [
        "orchestrator",
        "recommend",
        "--next",
        str(answer.matrix),
        "--output",
        _EXAMPLE,
        *where,
    ]
    yield f"`{shlex.join(command)}` writes them as a matrix for `orchestrator run {_EXAMPLE}`"


def _data(answer: NextCells, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "matrix": str(answer.matrix),
        "database": str(answer.database),
        "cells": rows,
        "seconds": answer.seconds,
        "candidates": answer.candidates,
        "weighed": answer.weighed,
        "measured": answer.measured,
        "left_out": answer.left_out,
        "examples": answer.examples,
        "interval_factor": answer.interval,
        "notes": list(answer.faults),
    }
