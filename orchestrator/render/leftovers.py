"""What was, or would be, removed from the results folder, as a table or as JSON."""

import json
from collections.abc import Sequence

from orchestrator.leftovers import Leftover
from orchestrator.render.tables import print_line, print_table
from orchestrator.units import format_size


def print_leftovers(found: Sequence[Leftover], *, removed: bool, as_json: bool) -> None:
    """Everything with its size, then the sum."""
    if as_json:
        print_line(json.dumps([_data(each, removed=removed) for each in found], indent=2))
        return
    if not found:
        print_line("there is nothing to remove")
        return
    rows = [(str(each.path), each.kind, format_size(each.size_bytes)) for each in found]
    print_table(("path", "kind", "size"), rows)
    print_line()
    size = format_size(sum(each.size_bytes for each in found))
    deed = "removed" if removed else "to remove: `orchestrator prepare --prune --yes` does"
    print_line(f"{len(found)}, together {size}, {deed}")


def _data(each: Leftover, *, removed: bool) -> dict[str, object]:
    return {
        "kind": each.kind,
        "path": str(each.path),
        "size_bytes": each.size_bytes,
        "removed": removed,
    }
