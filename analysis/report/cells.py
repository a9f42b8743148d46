"""Tables of results: a row for each cell, with the numbers of its mode."""

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.report.results import ReportedResults
from analysis.results.differing import shared, varying
from analysis.results.metrics import METRICS, PERFORMANCE_VIEW, Metric
from analysis.results.table import Field, RowFacts, Table
from runner.contract.axes import AXES

_WORDS = ("model", "backend", "runtime", "precision", "mode", "scenario")
_CELL = (
    *(Field(name) for name in _WORDS),
    *(
        Field(axis.name, axis.heading or axis.name, "number")
        for axis in AXES
        if axis.kind in ("size", "count")
    ),
)
"""Columns that tell what was measured."""
_OURS = "accelmatrix"
_SYNTHETIC = "synthetic"
_OWN = (_OURS, _SYNTHETIC)
_ALWAYS = frozenset({"model", "backend", "precision", "batch_size"})
"""Columns that are there even if all rows agree."""
_UNSAID = _ALWAYS | {"hostname"}
"""Columns that are no fact of a report even if all rows agree: its top is shown to others."""


def _measured(metric: Metric) -> Field:
    """The column of a metric; rows hold the intervals of their own view alone."""
    ends = (metric.low, metric.high) if metric.view == PERFORMANCE_VIEW else (None, None)
    return Field(metric.column, metric.report or metric.heading, "number", *ends, measured=True)


_LEADING = [METRICS[name] for name in ("throughput", "tokens", "peak_qps", "latency")]
_NUMBERS = (
    *map(_measured, _LEADING),
    Field("latency_precision", "±", "share"),
    Field("grade", kind="grade"),
    *(_measured(metric) for metric in METRICS.values() if metric.report and metric not in _LEADING),
)
_TRUST = (
    Field("proof"),
    Field("outputs"),
    Field("hardware", "device"),
    Field("hostname", "host"),
    Field("source", "measured by"),
    Field("measured_at", "measured", "moment"),
)


def cell_table(results: ReportedResults) -> Table:
    """All results of a report, a row each."""
    rows = [_row(row) for row in results.rows]
    different = varying(rows, [field.name for field in (*_CELL, *_TRUST)])
    cell = [field for field in _CELL if field.name in {*different, *_ALWAYS}]
    trust = [field for field in _TRUST if field.name in different]
    fields = (*cell, *_NUMBERS, *trust)
    table = Table("Results", fields, rows, name="results", left_out=results.left_out)
    return table.filled()


def shared_facts(rows: Sequence[RowFacts]) -> dict[str, str]:
    """The columns in which all rows agree, by their headings."""
    words = {
        field.name: field.title
        for field in (*_CELL, *_TRUST)
        if field.name not in _UNSAID and field.kind == "word"
    }
    facts = shared([_row(row) for row in rows], words)
    return {words[name]: str(value) for name, value in facts.items() if value not in (None, _OURS)}


def marks_sentences(results: ReportedResults) -> Iterator[str]:
    """Sentences on results that AccelMatrix did not measure, or that must not be quoted."""
    rows = results.rows
    foreign = Counter(row["source"] for row in rows if row["source"] not in _OWN)
    if foreign:
        sources = ", ".join(sorted(foreign))
        yield (
            f"{foreign.total():,} of {len(rows):,} results were measured by others ({sources}):"
            " AccelMatrix proved neither their device nor their outputs."
        )
    held = sum(not row["quotable"] for row in rows if row["source"] in _OWN)
    if held:
        yield f"{held:,} of {len(rows):,} results must not be quoted: see proof and outputs."
    if results.selection.imported:
        selected = results.selection.condition
        (counted,) = results.ask(
            "SELECT count(*) AS simulated FROM benchmark_performance_all r"
            f" WHERE r.simulated AND r.source <> '{_SYNTHETIC}' AND ({selected})"
        )
        if counted["simulated"]:
            yield f"Left out, since their files call them simulated: {counted['simulated']:,}."


def _row(row: RowFacts) -> RowFacts:
    """A row with its outputs in a word; samples a second say nothing of generation."""
    unknown = "not compared" if row["off"] is None else "not told"
    outputs = {True: "agree", False: "wrong", None: unknown}[row["correct"]]
    shown = {**row, "outputs": outputs}
    if row["mode"] == "generation":
        shown["throughput"] = None
    return shown
