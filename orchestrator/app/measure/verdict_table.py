"""Verdicts of a verification as a table of models × paths, with their reasons as footnotes."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.app.measure.verification import VerifiedCell
from runner.contract.cell import Mode, Precision
from runner.contract.models import catalogue
from runner.contract.support import generates


@dataclass(frozen=True)
class VerdictRow:
    """The verdicts on one model in one mode."""

    model: str
    mode: Mode
    cells: dict[str, VerifiedCell]
    """By column."""


@dataclass(frozen=True)
class VerdictTable:
    """Models × paths, with the reasons below."""

    columns: tuple[str, ...]
    """Paths, with the precision where it is not fp32 alone."""
    rows: tuple[VerdictRow, ...]
    reasons: tuple[str, ...]
    """Each once; a cell's footnote is the place of its reason, from 1."""

    def text(self, row: VerdictRow, column: str) -> str:
        """A cell's mark with its footnote: `ok`, `wrong [2]`; empty where there is no cell."""
        cell = row.cells.get(column)
        if cell is None:
            return ""
        note = f" [{self.reasons.index(cell.reason) + 1}]" if cell.reason else ""
        return f"{cell.mark}{note}"


def verdict_table(cells: Sequence[VerifiedCell]) -> VerdictTable:
    """Models × paths. Generation by a model that cannot write tokens is left out."""
    precisions: dict[str, set[Precision]] = {}
    for cell in cells:
        precisions.setdefault(cell.path, set()).add(cell.precision)
    rows: dict[tuple[str, Mode], dict[str, VerifiedCell]] = {}
    columns: dict[str, None] = {}
    for cell in cells:
        plain = precisions[cell.path] == {"fp32"}
        column = cell.path if plain else f"{cell.path} {cell.precision}"
        columns[column] = None
        rows.setdefault((cell.model, cell.mode), {})[column] = cell
    possible = [
        row for key, by_path in rows.items() if not _is_impossible(row := VerdictRow(*key, by_path))
    ]
    reasons = (cell.reason for row in possible for cell in row.cells.values() if cell.reason)
    return VerdictTable(tuple(columns), tuple(possible), tuple(dict.fromkeys(reasons)))


def _is_impossible(row: VerdictRow) -> bool:
    """True if no path could ever do it, whatever stands in the way on those verified."""
    model = catalogue().get(row.model)
    if row.mode != "generation" or model is None or generates(model):
        return False
    return all(cell.mark == "unsupported" for cell in row.cells.values())
