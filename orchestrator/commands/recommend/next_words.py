"""The proposed cells as a table, a matrix and sentences."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

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
_REASONS = {"out_of_memory": "that cannot fit into memory"}
_EXAMPLE = "next.yaml"


def proposed_matrix_text(answer: NextCells, path: Path | None) -> str:
    if path is not None and path.suffix == ".json":
        return json.dumps(answer.document, indent=2) + "\n"
    count = len(answer.cells)
    comment = f"{count:,} {plural(count, 'cell')} of {answer.matrix} to measure next"
    return cells_text(answer.document, comment)


def next_sheet(answer: NextCells, written: Path | None = None) -> Sheet:
    rows = [
        {
            "cell": one.entry.cell.id,
            "seconds": one.seconds,
            "seconds_by": one.entry.estimated_by,
            "interval_share": one.interval_share,
            **{name: getattr(one.entry.cell, name) for name in AXIS_NAMES},
        }
        for one in answer.cells
    ]
    title = f"Cells of {answer.matrix} to measure next, the most helpful first"
    seconds = sum(one.seconds for one in answer.cells)
    document = {
        "matrix": str(answer.matrix),
        "database": str(answer.database),
        "cells": rows,
        "seconds": seconds,
        "candidates": answer.candidates,
        "weighed": answer.weighed,
        "measured": answer.measured,
        "left_out": answer.left_out,
        "examples": answer.examples,
        "interval_factor": answer.interval,
        "notes": list(answer.faults),
    }
    notes = (*_answer(answer, seconds), *_trust(answer), _next(answer, written))
    return Sheet(title, [Table(title, _FIELDS, rows)], notes, document)


def _answer(answer: NextCells, seconds: float) -> Iterator[str]:
    count, left = len(answer.cells), answer.candidates - len(answer.cells)
    these = "this cell" if count == 1 else f"these {count:,} cells"
    time = f"Measuring {these} takes about {format_duration(round(seconds))}"
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
        parts = [
            f"{count:,} {_REASONS.get(reason, reason)}" for reason, count in answer.left_out.items()
        ]
        more = sum([*answer.left_out.values()][_MOST_REASONS:])
        others = [f"{more:,} for other reasons"] if more else []
        yield f"Left out: {', '.join([*parts[:_MOST_REASONS], *others])}."
    yield from answer.faults


def _next(answer: NextCells, written: Path | None) -> str:
    where = database_option(answer.database)
    if written is not None:
        return f"{written} has them: `{shlex.join(['orchestrator', 'run', str(written), *where])}`"
    words = ["recommend", "--next", str(answer.matrix), "--output", _EXAMPLE]
    command = shlex.join(["orchestrator", *words, *where])
    return f"`{command}` writes them as a matrix for `orchestrator run {_EXAMPLE}`"
