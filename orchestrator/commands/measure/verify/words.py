"""Prepared graphs, and verdicts of a verification, as a table or as JSON."""

from collections import Counter

from analysis.compatibility.verdicts import MEANINGS
from analysis.results.table import Field, wrapping
from orchestrator.commands.measure.prepare import Preparation, PreparedGraph
from orchestrator.commands.measure.verify.verification import Verification, verdict_table
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import format_size

_GRAPH_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("model"),
    *("content", "numbers"),
    *wrapping("shape", "exported by"),
    *("difference", Field("size", essential=True, right=True), "seconds"),
)


def print_prepared(preparation: Preparation, *, as_json: bool) -> None:
    """Print every graph, then the reasons of those that are missing."""
    graphs = preparation.graphs
    if as_json:
        print_json(graphs)
        return
    print_lines(_GRAPH_COLUMNS, [_graph_row(graph) for graph in graphs])
    print_line()
    for line in dict.fromkeys(_describe_failure(graph) for graph in graphs if graph.failure):
        print_line(line)
    print_line(f"{len(graphs) - preparation.missing} of {len(graphs)} graphs at hand")


def _describe_failure(graph: PreparedGraph) -> str:
    reason = "; ".join((graph.failure or "").splitlines())
    return f"{graph.model} ({graph.content}, {graph.numbers}): {reason}"


def _graph_row(graph: PreparedGraph) -> tuple[object, ...]:
    size = None if graph.size_bytes is None else format_size(graph.size_bytes)
    remedy = graph.remedy if graph.failure is None else "failed"
    variant = (graph.model, graph.content, graph.numbers, graph.shape)
    return (*variant, remedy, graph.difference_relative, size, graph.export_s)


def print_verification(verification: Verification, *, as_json: bool) -> None:
    """Print every model's verdict on every path, the reasons below, then the sums."""
    cells = verification.cells
    if as_json:
        print_json(verification)
        return
    table = verdict_table(cells)
    rows = [
        (row.model, row.mode, *(table.text(row, column) or None for column in table.columns))
        for row in table.rows
    ]
    print_lines((*wrapping("model"), "mode", *wrapping(*table.columns)), rows)
    print_line()
    for number, reason in enumerate(table.reasons, start=1):
        print_line(f"[{number}] {reason}")
    counts = Counter(cell.mark for cell in cells)
    summary = ", ".join(f"{count} {mark}" for mark, count in counts.items())
    print_line(f"{len(cells):,} cells: {summary}")
    for mark in counts:
        if mark in MEANINGS:
            print_line(f"{mark}: {MEANINGS[mark]}")
    for backend, simulator in verification.simulators.items():
        print_line(f"{backend}: the {simulator} in the device's place")
    shapes = sorted({cell.verified_shape for cell in cells if cell.verified_shape})
    if shapes:
        print_line(f"outputs were compared at {', '.join(shapes)}")
