"""The answer to a selection that keeps no cell: what may have been meant by it."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from orchestrator.planning.expand import Expansion
from orchestrator.system.text import plural
from runner.contract.cell import Cell, Selector
from runner.contract.errors import NothingToDo, closest

_LOOKED_AT = 10_000
"""Cells in which the meant word is looked for."""


def nothing_selected(expansion: Expansion, selector: Selector) -> NothingToDo:
    if not expansion.cells:
        return NothingToDo(
            "the matrix holds no cell", hint="its exclude entries leave no combination"
        )
    cells = [cell for cell, _ in expansion.cells[:_LOOKED_AT]]
    words = " ".join(f"--select {glob!r}" for glob in selector.globs)
    count = len(expansion.cells)
    guess = "".join(f"; did you mean {meant!r}?" for meant in _meant(selector.globs, cells)[:1])
    return NothingToDo(
        f"{words} keeps none of {count:,} {plural(count, 'cell')}{guess}",
        hint="a word keeps the ids that hold it, a glob with * those that fit it as a whole; "
        f"one id is {cells[0].id}",
    )


def _meant(globs: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """Globs and words that keep a cell, for those that keep none."""
    ids = [cell.id for cell in cells]
    parts = {str(part) for cell in cells for part in _parts(cell)}
    meant: list[str] = []
    for glob in globs:
        if glob.startswith("!") or any(map(Selector([glob]).keeps_id, ids)):
            continue
        wider = f"*{glob.strip('*')}*"
        if any(fnmatchcase(name, wider) for name in ids):
            meant.append(wider)
        meant += closest(glob.strip("*-").lower(), parts)
    return meant


def _parts(cell: Cell) -> tuple[str, ...]:
    return cell.backend, cell.runtime, cell.model, cell.precision, cell.mode, cell.scenario
