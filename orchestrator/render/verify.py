"""A verification as a table of models × paths, or as JSON."""

from collections import Counter

from orchestrator.render.tables import print_line, print_table
from orchestrator.verification import MARKS, Verified
from orchestrator.verification_table import table_of


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
