"""Tables of results: a row for each cell, with the numbers of its mode."""

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.report.report import ReportColumn, ReportRow, ReportTable
from analysis.report.results import ReportedResults
from analysis.results.metrics import METRICS, PERFORMANCE_VIEW, Metric
from runner.contract.axes import AXES

_WORDS = ("model", "backend", "runtime", "precision", "mode", "scenario")
_CELL = (
    *(ReportColumn(name, name) for name in _WORDS),
    *(
        ReportColumn(axis.name, axis.heading or axis.name, "number")
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


def _measured(metric: Metric) -> ReportColumn:
    """The column of a metric; rows hold the intervals of their own view alone."""
    ends = (metric.low, metric.high) if metric.view == PERFORMANCE_VIEW else (None, None)
    return ReportColumn(
        metric.column, metric.report or metric.heading, "number", *ends, measured=True
    )


_LEADING = [METRICS[name] for name in ("throughput", "tokens", "peak_qps", "latency")]
_NUMBERS = (
    *map(_measured, _LEADING),
    ReportColumn("latency_precision", "±", "share"),
    ReportColumn("grade", "grade", "grade"),
    *(_measured(metric) for metric in METRICS.values() if metric.report and metric not in _LEADING),
)
_TRUST = (
    ReportColumn("proof", "proof"),
    ReportColumn("outputs", "outputs"),
    ReportColumn("hardware", "device"),
    ReportColumn("hostname", "host"),
    ReportColumn("source", "measured by"),
    ReportColumn("measured_at", "measured", "moment"),
)


def cell_table(results: ReportedResults) -> ReportTable:
    """All results of a report, a row each."""
    rows = [_row(row) for row in results.rows]
    varying = [column for column in (*_CELL, *_TRUST) if _differs(column, rows)]
    columns = [column for column in _CELL if column in varying or column.name in _ALWAYS]
    trust = [column for column in _TRUST if column in varying]
    table = ReportTable(
        "results",
        "Results",
        (*columns, *_NUMBERS, *trust),
        rows,
        left_out=results.left_out,
    )
    return table.without_empty_columns()


def shared_facts(rows: Sequence[ReportRow]) -> dict[str, str]:
    """The columns in which all rows agree, by their headings."""
    shared: dict[str, str] = {}
    for column in (*_CELL, *_TRUST):
        values = {row.get(column.name) for row in map(_row, rows)}
        if len(values) == 1 and column.name not in _UNSAID and column.kind == "word":
            value = values.pop()
            if value not in (None, _OURS):
                shared[column.heading] = str(value)
    return shared


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


def _row(row: ReportRow) -> ReportRow:
    """A row with its outputs in a word; samples a second say nothing of generation."""
    unknown = "not compared" if row["off"] is None else "not told"
    outputs = {True: "agree", False: "wrong", None: unknown}[row["correct"]]
    shown = {**row, "outputs": outputs}
    if row["mode"] == "generation":
        shown["throughput"] = None
    return shown


def _differs(column: ReportColumn, rows: Sequence[ReportRow]) -> bool:
    return len(Counter(str(row.get(column.name)) for row in rows)) > 1
