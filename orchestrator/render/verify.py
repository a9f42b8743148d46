"""Prepared graphs as a table or as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from orchestrator.app.measure.prepare import Prepared, failures
from orchestrator.app.measure.verify import MARKS, Verified, VerifiedCell
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.system.text import format_size
from runner.contract.cell import Mode, Precision
from runner.contract.models import catalogue
from runner.contract.support import generates

COLUMNS = ("model", "content", "numbers", "shape", "exported by", "difference", "size", "seconds")


def print_prepared(prepared: Sequence[Prepared], *, as_json: bool) -> None:
    """Every graph, then why those are missing that are."""
    if as_json:
        print_line(json.dumps([asdict(each) for each in prepared], indent=2))
        return
    print_table(COLUMNS, [_row(each) for each in prepared])
    print_line()
    for line in dict.fromkeys(_why(each) for each in prepared if each.failure):
        print_line(line)
    missing = failures(prepared)
    print_line(f"{len(prepared) - missing} of {len(prepared)} graphs at hand")


def _why(each: Prepared) -> str:
    told = "; ".join((each.failure or "").splitlines())
    return f"{each.model} ({each.content}, {each.numbers}): {told}"


def _row(each: Prepared) -> tuple[object, ...]:
    size = None if each.size_bytes is None else format_size(each.size_bytes)
    way = each.remedy if each.failure is None else "failed"
    kind = (each.model, each.content, each.numbers, each.shape)
    return (*kind, way, each.difference_relative, size, each.export_s)


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


def print_verified(found: Verified, *, as_json: bool) -> None:
    """Every model's verdict on every path, the reasons below, then the sums."""
    if as_json:
        print_line(found.model_dump_json(indent=2))
        return
    table = table_of(found.cells)
    rows = [
        (row.model, row.mode, *(table.text(row, column) or None for column in table.columns))
        for row in table.rows
    ]
    print_table(("model", "mode", *table.columns), rows)
    print_line()
    for number, reason in enumerate(table.reasons, start=1):
        print_line(f"[{number}] {reason}")
    counts = Counter(cell.mark for cell in found.cells)
    told = ", ".join(f"{count} {mark}" for mark, count in counts.items())
    print_line(f"{len(found.cells)} cells: {told}")
    for mark in counts:
        if mark in MARKS:
            print_line(f"{mark}: {MARKS[mark]}")
    shapes = sorted({cell.verified_shape for cell in found.cells if cell.verified_shape})
    if shapes:
        print_line(f"outputs were compared at {', '.join(shapes)}")
