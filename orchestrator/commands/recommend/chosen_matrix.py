"""A matrix of what was recommended: a file that `run` takes, which chooses hardware by itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.recommend.ranking import CandidateRanking, RankedCandidate
from orchestrator.commands.recommend.answer import Recommendation
from orchestrator.system.text import format_size
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo

MOST_EQUALS = 3
"""Candidates beside the first, of those that nothing tells from it, which the matrix holds."""
_USUAL: dict[AxisName, Any] = {"mode": "inference", "scenario": "single_stream"}


def chosen_cells(ranking: CandidateRanking) -> tuple[RankedCandidate, ...]:
    """The first of a ranking and some that nothing tells from it: measuring them decides."""
    return (ranking.first, *ranking.equals[:MOST_EQUALS])


def chosen_matrix(answer: Recommendation) -> dict[str, Any]:
    """The matrix whose cells are the first of each ranking, with those that may be as good.

    Raises:
        NothingToDo: nothing is recommended.
    """
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
