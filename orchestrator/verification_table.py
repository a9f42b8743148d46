"""A verification as a table: models × paths, with the reasons below."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.support import generates
from orchestrator.verification import VerifiedCell
from runner.cell import Mode, Precision
from runner.models import catalogue


@dataclass(frozen=True)
class Row:
    """The verdicts on one model in one mode."""

    model: str
    mode: Mode
    cells: dict[str, VerifiedCell]
    """By column."""


@dataclass(frozen=True)
class Table:
    """Models × paths, with the reasons below."""

    columns: tuple[str, ...]
    """Paths, with the precision where it is not fp32 alone."""
    rows: tuple[Row, ...]
    reasons: tuple[str, ...]
    """Each once; a cell's footnote is the place of its reason, from 1."""

    def text(self, row: Row, column: str) -> str:
        """A cell's mark with its footnote: `ok`, `wrong [2]`; empty where there is no cell."""
        cell = row.cells.get(column)
        if cell is None:
            return ""
        note = f" [{self.reasons.index(cell.reason) + 1}]" if cell.reason else ""
        return f"{cell.mark}{note}"


def table_of(cells: Sequence[VerifiedCell]) -> Table:
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
    kept = [row for key, found in rows.items() if not _impossible(row := Row(*key, found))]
    reasons = (cell.reason for row in kept for cell in row.cells.values() if cell.reason)
    return Table(tuple(columns), tuple(kept), tuple(dict.fromkeys(reasons)))


def _impossible(row: Row) -> bool:
    """Whether no path could ever do it, whatever stands in the way on those verified."""
    model = catalogue().get(row.model)
    if row.mode != "generation" or model is None or generates(model):
        return False
    return all(cell.mark == "unsupported" for cell in row.cells.values())
