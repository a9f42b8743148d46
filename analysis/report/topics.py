"""Topics of reports: which charts and sections each has."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from analysis.charts.chart import Chart, distinctly_named
from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.charts.durations import duration_charts
from analysis.charts.efficiency import energy_rows, family_efficiencies, rooflines
from analysis.charts.rounds import round_charts
from analysis.charts.scenarios import offline_curves, server_curves
from analysis.charts.stacks import START_STAGES, STEP_PARTS, startup_stages, training_steps
from analysis.compatibility import families
from analysis.compatibility.families import UNDECIDED, FamilySummary, MeanRatio
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Rating, rate
from analysis.compatibility.verdicts import read_evidence
from analysis.report.cells import CELL_FIELDS, GRADE_FIELD
from analysis.report.comparisons import comparison_table
from analysis.report.report import (
    RememberedAnswers,
    Report,
    ReportedResults,
    ReportSection,
    reported_results,
    table_section,
)
from analysis.report.shared import report_on
from analysis.results.metrics import METRICS
from analysis.results.selection import MOST_RESULTS, Selection
from analysis.results.source import ArrowSource
from analysis.results.table import Field, FieldKind, RowFacts, Table

_THRESHOLDS = (
    "High: works, is proven and agrees, with at least"
    f" {100 * HIGH_SHARE:.0f} % of the best backend's throughput for the same cell. Medium: at"
    f" least {100 * MEDIUM_SHARE:.0f} %. Low: less, or with limits. N/A: does not work."
    " Not tried: nothing was executed there, which says nothing of whether it works."
)
_REASONS = (
    *map(Field, ("model", "mode", "backend")),
    Field("level", kind="grade"),
    Field("share", "share of the best", "share", "share_low", "share_high"),
    Field("cells", kind="number"),
    Field("runtime", "fastest runtime"),
    Field("precision", "and precision"),
    Field("verdict"),
    Field("reason", kind="prose"),
    Field("remedy", "what helps", "prose"),
    Field("source", "measured by"),
)
_FAMILIES = (
    Field("family"),
    Field("models", kind="number"),
    Field("backend", "best backend"),
    Field("speedup", "times as fast as cpu", "number", "speedup_low", "speedup_high"),
    Field("speedup_cells", "in cells", "number"),
    Field("memory", "memory of int8 by fp32", "number", "memory_low", "memory_high"),
    Field("memory_cells", "in cells", "number"),
    Field("largest_batch", "largest batch", "number"),
    Field("scaling", "its scaling efficiency", "share"),
    Field("scaling_cells", "in cells", "number"),
)


def _rating_section(results: ReportedResults) -> ReportSection:
    ratings = rate(read_evidence(results.source, results.selection))
    rows = [_reason(one) for one in ratings if one.level != "not measured"]
    reasons = Table("Levels with what they rest on", _REASONS, rows, name="rated").filled()
    return table_section("ratings", "Models on backends", _matrix(ratings), reasons)


def _matrix(ratings: Sequence[Rating]) -> Table:
    rows: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for rating in ratings:
        row = rows[rating.model, rating.mode]
        row |= {"model": rating.model, "mode": rating.mode, f"on_{rating.backend}": rating.level}
    backends = sorted({rating.backend for rating in ratings})
    levels = (Field(f"on_{name}", name, "grade") for name in backends)
    columns = (Field("model"), Field("mode"), *levels)
    return Table("Models × backends", columns, list(rows.values()), (_THRESHOLDS,), "ratings")


def _reason(rating: Rating) -> RowFacts:
    runtime, precision = rating.fastest or (None, None)
    obstacle = rating.obstacle
    return {
        **vars(rating),
        "runtime": runtime,
        "precision": precision,
        "verdict": obstacle and obstacle.verdict,
        "reason": obstacle and obstacle.reason,
        "remedy": obstacle and obstacle.remedy,
    }


def _family_section(results: ReportedResults) -> ReportSection:
    """A row for each family: its best backend, int8's memory, scaling with the batch."""
    summaries = families.summarise_families(results.source, results.shown)
    means = "Ratios are geometric means, with the least and the greatest of the cells."
    notes = (means, *families.doubt_lines(summaries, results.selection.threshold))
    table = Table("Families", _FAMILIES, [*map(_family, summaries)], notes, "families")
    return table_section("families", "Families", table.filled())


def _family(summary: FamilySummary) -> RowFacts:
    return {
        "family": summary.family,
        "models": summary.models,
        "backend": summary.backend or UNDECIDED,
        "largest_batch": summary.largest_batch,
        **_mean("speedup", summary.speedup if summary.backend else None),
        **_mean("memory", summary.int8_memory),
        **_mean("scaling", summary.scaling),
    }


def _mean(name: str, ratio: MeanRatio | None) -> Mapping[str, float | None]:
    if ratio is None:
        return {}
    ends = {f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    return {name: ratio.value, **ends, f"{name}_cells": ratio.cells}


_MOST_ROWS = 1000
_CELL = ("model", "backend", "runtime", "precision", "batch_size", "sequence_length")


def _number(name: str, heading: str, kind: FieldKind = "number") -> Field:
    return Field(name, heading, kind, measured=kind == "number")


def _metric(name: str) -> Field:
    metric = METRICS[name]
    return _number(metric.column, metric.report or metric.unit)


_COLD = "startup_cold_median"
_STAGE_HEADINGS = ("warm: interpreter, s", "imports, s", "model, s", "weights, s", "first query, s")
_PARTS = {
    "training_results": (
        "Parts of a training step",
        (
            Field("training_precision", "numbers in training"),
            _number("latency_median_ms", "step, ms"),
            *(_number(f"{part}_median_ms", f"{part}, ms") for part in STEP_PARTS),
            _metric("memory"),
            GRADE_FIELD,
        ),
    ),
    "startup_results": (
        "Starts and their stages",
        (
            Field("workers", kind="number"),
            replace(
                _number(f"{_COLD}_s", "cold start, s"), low=f"{_COLD}_low_s", high=f"{_COLD}_high_s"
            ),
            *(
                _number(f"startup_warm_{stage}_median_s", heading)
                for stage, heading in zip(START_STAGES, _STAGE_HEADINGS, strict=True)
            ),
            _number("concurrent_models_per_second", "models/s at once"),
            _number("concurrent_speedup", "times one alone"),
            GRADE_FIELD,
        ),
    ),
    "offline_curve": (
        "Batches that offline tried",
        (
            Field("queries", kind="number"),
            *map(_metric, ("throughput", "latency", "memory")),
            Field("found", "chosen"),
        ),
    ),
    "efficiency": (
        "Achieved arithmetic and memory traffic",
        (
            Field("mode"),
            Field("part"),
            _number("time_ms", "time, ms"),
            _metric("gflop_per_s"),
            _number("peak_gflop_per_s", "peak GFLOP/s"),
            _number("mfu", "share of it", "share"),
            _metric("gb_per_s"),
            _number("peak_gb_per_s", "peak GB/s"),
            _number("mbu", "share of it", "share"),
            _number("intensity", "FLOP per byte"),
            Field("bound", "bound by"),
            GRADE_FIELD,
        ),
    ),
    "arrival_results": (
        "Latency at a rate of queries",
        (
            Field("target_qps", "offered queries/s", "number"),
            Field("slo_ms", "limit, ms", "number"),
            _number("achieved_qps", "answered queries/s"),
            *map(_metric, ("peak_qps", "latency", "p99")),
            _number("service_median_ms", "without waiting, ms"),
            GRADE_FIELD,
        ),
    ),
}
"""Titles and fields by the view that has the rows."""
_CONDITIONS = {"arrival_results": "scenario = 'server'"}


def _part_table(results: ReportedResults, view: str) -> Table:
    """Rows of a view that belong to the report's results; a field without a value is left out."""
    title, own = _PARTS[view]
    fields = (*(field for field in CELL_FIELDS if field.name in _CELL), *own)
    bounds = [name for field in own for name in (field.low, field.high) if name]
    names = ", ".join(["result_id", *(field.name for field in fields), *bounds])
    rows = results.ask(f"""
        SELECT {names}, count(*) OVER () AS total FROM {view}
        WHERE result_id IN ({results.ids}) AND {_CONDITIONS.get(view, "true")}
        ORDER BY model, backend, runtime, precision, batch_size, result_id LIMIT {_MOST_ROWS}
    """)
    left_out = rows[0]["total"] - len(rows) if rows else 0
    return Table(title, fields, rows, name=view, left_out=left_out).filled()


_MakeTable = Callable[[ReportedResults], Table]
_MakeSection = Callable[[ReportedResults], ReportSection]


def _by(name: str, title: str, metric: str = "latency") -> _MakeTable:
    return lambda results: comparison_table(results, name, title, METRICS[metric])


def _part(view: str) -> _MakeTable:
    return lambda results: _part_table(results, view)


def _section(name: str, title: str, *tables: _MakeTable) -> _MakeSection:
    return lambda results: table_section(name, title, *(make(results) for make in tables))


_COMPARISONS = (
    _section(
        "compared",
        "Side by side",
        _by("backend", "Backends"),
        _by("runtime", "Runtimes"),
        _by("precision", "Precisions"),
    ),
    _section("training", "Training", _part("training_results")),
    _section("arrivals", "Queries at a rate", _part("arrival_results")),
)
_STARTS = _section("starts", "Starts", _part("startup_results"))
_SCALING = (
    _section(
        "batches", "Batches", _by("batch_size", "By batch", "throughput"), _part("offline_curve")
    ),
    _section("lengths", "Lengths", _by("sequence_length", "By length", "throughput")),
    _section(
        "threads", "Threads and workers", _by("threads", "Threads"), _by("workers", "Workers")
    ),
)
_HARDWARE = (
    _section("devices", "Devices", _by("hardware", "Side by side")),
    _section("efficiency", "Use of the hardware", _part("efficiency")),
)
_DrawCharts = Callable[[ArrowSource, Selection], tuple[Chart, ...]]
"""Draws all charts of a kind that the selected results have."""
_METRICS = ("latency", "throughput", "tokens", "memory")
_BY_BATCH: _DrawCharts = partial(size_curves, metric_names=_METRICS)
_BY_LENGTH: _DrawCharts = partial(size_curves, metric_names=_METRICS, over="sequence_length")
_BY_WORKERS: _DrawCharts = partial(size_curves, metric_names=("models_per_second",), over="workers")
_BACKENDS, _RUNTIMES, _PRECISIONS, _BY_FAMILY = (
    partial(property_comparison, by=by) for by in ("backend", "runtime", "precision", "family")
)
_MEASURE = "`orchestrator run matrix.yaml` or `orchestrator bench --model NAME` measures"
_SCALED = "`orchestrator bench --model NAME --batch-size 1,2,4,8` measures"
_STARTED = "`orchestrator bench --model NAME --mode startup` measures starts"


@dataclass(frozen=True)
class ReportTopic:
    """A topic of reports."""

    title: str
    charts: Sequence[_DrawCharts]
    sections: Sequence[_MakeSection]
    """Its own sections, before those that every report has."""
    remedy: str = _MEASURE
    """A command that measures what it is about, in words."""
    condition: str = "true"
    """Results that it is about, as a condition in SQL."""


REPORT_TOPICS: Mapping[str, ReportTopic] = {
    "performance": ReportTopic(
        "Performance",
        (
            *(_BACKENDS, _RUNTIMES, _PRECISIONS, _BY_FAMILY, family_efficiencies),
            *(_BY_BATCH, training_steps, server_curves, energy_rows),
        ),
        (_family_section, *_COMPARISONS),
    ),
    "hardware": ReportTopic(
        "Hardware", (rooflines, family_efficiencies, _BACKENDS, energy_rows), _HARDWARE
    ),
    "compatibility": ReportTopic("Compatibility", (), (_rating_section,)),
    "startup": ReportTopic(
        "Starts", (startup_stages, _BY_WORKERS), (_STARTS,), _STARTED, "mode = 'startup'"
    ),
    "scaling": ReportTopic(
        "Scaling", (_BY_BATCH, offline_curves, _BY_LENGTH, _BY_WORKERS), _SCALING, _SCALED
    ),
    "run": ReportTopic(
        "Run",
        (
            *(_BACKENDS, _RUNTIMES, _PRECISIONS, round_charts, _BY_BATCH, offline_curves),
            *(_BY_LENGTH, training_steps, startup_stages, _BY_WORKERS, server_curves, rooflines),
            *(family_efficiencies, energy_rows, duration_charts),
        ),
        (*_COMPARISONS, *_SCALING, _STARTS),
    ),
}


def charts_of(topic: str, source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """All charts of a topic that the selected results have, each under a name of its own."""
    kinds = REPORT_TOPICS[topic].charts
    return distinctly_named(chart for draw in kinds for chart in draw(source, selection))


def make_report(
    topic: str, source: ArrowSource, selection: Selection, most: int = MOST_RESULTS
) -> Report:
    """The report on a topic, from the newest results of a selection, at most so many.

    Raises:
        BenchError: the database cannot be read.
    """
    chosen = REPORT_TOPICS[topic]
    condition = f"({selection.condition}) AND {chosen.condition}"
    remembered = RememberedAnswers(source)
    results = reported_results(remembered, replace(selection, condition=condition), most)
    own = [make(results) for make in chosen.sections]
    charts = charts_of(topic, remembered, results.shown)
    answers = [answer for one in own for table in one.tables for answer in table.answers]
    sections = (ReportSection("charts", "Charts", charts=charts), *own)
    return report_on(results, topic, chosen.title, sections, answers)
