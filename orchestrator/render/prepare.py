"""Prepared graphs as a table or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from orchestrator.prepare import Prepared, failures
from orchestrator.render.tables import print_line, print_table
from orchestrator.units import format_size

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
