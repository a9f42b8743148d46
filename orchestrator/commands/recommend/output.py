"""The output of a recommendation, or of cells to measure next: a sheet, or a matrix for `run`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.recommend.choices import CandidateRanking, RankedCandidate
from orchestrator.commands.recommend.answer import Recommendation
from orchestrator.screen.lines import print_content
from orchestrator.screen.sheet import SHEET_SUFFIXES, require_output, sheet_format, show_sheet
from orchestrator.system.files import is_stdout, output_file
from orchestrator.system.text import format_size
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from orchestrator.commands.recommend.next_cells import NextCells
import shlex

from analysis.results.table import Field, Table
from orchestrator.commands.recommend.next_cells import NextCells
from orchestrator.matrix import cells_text
from orchestrator.screen.sheet import Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration, plural

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
    """The proposed cells, the most helpful first, and the file in which their matrix is written."""
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


MOST_EQUALS = 3
"""Candidates beside the first, of those that nothing tells from it, which the matrix holds."""
_USUAL: dict[AxisName, Any] = {"mode": "inference", "scenario": "single_stream"}
MATRIX = "matrix"
RECOMMENDATION_SUFFIXES: Mapping[str, str] = {**SHEET_SUFFIXES, ".yaml": MATRIX, ".yml": MATRIX}


def chosen_cells(ranking: CandidateRanking) -> tuple[RankedCandidate, ...]:
    """The first of a ranking and some that nothing tells from it: measuring them decides."""
    return (ranking.first, *ranking.equals[:MOST_EQUALS])


def chosen_matrix(answer: Recommendation) -> dict[str, Any]:
    """The matrix whose cells are the first of each ranking, with those that may be as good."""
    cells = list(dict.fromkeys(_cells(answer)))
    if not cells:
        raise NothingToDo(
            "no candidate is left for a matrix",
            hint="`orchestrator recommend` without --format matrix says why",
        )
    matrix: dict[str, Any] = {
        "version": 1,
        "include": [_entry(cell, answer.words) for cell in cells],
    }
    if answer.request.memory_bytes:
        matrix["limits"] = {"memory": _exact_size(answer.request.memory_bytes)}
    return matrix


def _cells(answer: Recommendation) -> Iterator[Cell]:
    for choice in answer.choices:
        if choice.ranking:
            for one in chosen_cells(choice.ranking):
                yield one.candidate.cell


def _entry(cell: Cell, words: Mapping[str, str]) -> dict[AxisName, Any]:
    """A combination of its own: what a cell has, without what every cell has."""
    values = {name: getattr(cell, name) for name in AXIS_NAMES}
    entry = {
        name: value
        for name, value in values.items()
        if value is not None and value != _USUAL.get(name)
    }
    return entry | {"model": words.get(cell.model, cell.model)}


def _exact_size(size: int) -> str | int:
    words = format_size(size)
    return words if "." not in words else size


@dataclass(frozen=True)
class RecommendationOutput:
    """The format and the file that options ask for."""

    form: str | None = None
    path: Path | None = None
    force: bool = False
    wide: bool = False

    def require(self, database: Path) -> None:
        suffixes = RECOMMENDATION_SUFFIXES
        require_output(self.form, self.path, force=self.force, database=database, suffixes=suffixes)

    @property
    def folder(self) -> Path | None:
        return None if self.path is None or is_stdout(self.path) else self.path.parent

    def show(self, answer: "Recommendation") -> None:
        from orchestrator.commands.recommend.table import recommendation_sheet

        form = sheet_format(self.form, self.path, RECOMMENDATION_SUFFIXES)
        if form == MATRIX:
            self._write(matrix_text(answer).encode())
        else:
            show_sheet(recommendation_sheet(answer, form), form, self.path, wide=self.wide)

    def show_next(self, answer: "NextCells") -> None:
        form = sheet_format(self.form, self.path, RECOMMENDATION_SUFFIXES)
        if form != MATRIX:
            show_sheet(next_sheet(answer), form, self.path, wide=self.wide)
            return
        self._write(proposed_matrix_text(answer, self.path).encode())
        if self.folder is not None:
            show_sheet(next_sheet(answer, self.path), None, None, wide=self.wide)

    def _write(self, content: bytes) -> None:
        if self.path is None or is_stdout(self.path):
            print_content(content)
            return
        with output_file(self.path) as file:
            file.write(content)


def matrix_text(answer: "Recommendation") -> str:
    """The matrix of what is recommended, with what each entry rests on above it."""
    import yaml

    from orchestrator.commands.recommend.output import chosen_cells, chosen_matrix
    from orchestrator.commands.recommend.words import answer_words, requirement_words, subject_words

    matrix = chosen_matrix(answer)
    lines = [f"chosen by `orchestrator recommend`, {requirement_words(answer)}"]
    for choice in answer.choices:
        if choice.ranking:
            name = subject_words(choice.ranking.first.candidate.cell)
            count = len(chosen_cells(choice.ranking))
            more = "" if count == 1 else f" ({count} entries)"
            lines.append(f"{name}{more}: {answer_words(answer, choice.ranking)}")
    comments = "".join(f"# {line}\n" for line in lines)
    return comments + yaml.safe_dump(matrix, sort_keys=False, allow_unicode=True)
