"""Topics of reports: which sections each has."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.charts.topics import charts_of
from analysis.compatibility.families import FamilySummary, MeanRatio, summarise_families
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Rating, rate
from analysis.compatibility.verdicts import read_evidence
from analysis.report.cells import marks_sentences, shared_facts
from analysis.report.comparisons import comparison_table
from analysis.report.details import result_details
from analysis.report.report import Report, ReportSection, table_section
from analysis.report.results import RememberedAnswers, ReportedResults, reported_results
from analysis.report.shared import grades_of, shared_sections
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.results.table import Field, FieldKind, Table

_THRESHOLDS = (
    "High: works, is proven and agrees, with at least"
    f" {100 * HIGH_SHARE:.0f} % of the best backend's throughput for the same cell. Medium: at"
    f" least {100 * MEDIUM_SHARE:.0f} %. Low: less, or with limits. N/A: does not work."
)
_REASONS = (
    Field("model"),
    Field("mode"),
    Field("backend"),
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


def rating_section(results: ReportedResults) -> ReportSection:
    """The ratings of all models of the selection on all backends."""
    ratings = rate(read_evidence(results.source, results.selection))
    return table_section("ratings", "Models on backends", _matrix(ratings), _reasons(ratings))


def _matrix(ratings: tuple[Rating, ...]) -> Table:
    rows: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for rating in ratings:
        row = rows[rating.model, rating.mode]
        row |= {"model": rating.model, "mode": rating.mode, f"on_{rating.backend}": rating.level}
    backends = sorted({rating.backend for rating in ratings})
    columns = (
        Field("model"),
        Field("mode"),
        *(Field(f"on_{name}", name, "grade") for name in backends),
    )
    return Table("Models × backends", columns, list(rows.values()), (_THRESHOLDS,), "ratings")


def _reasons(ratings: tuple[Rating, ...]) -> Table:
    rows = [_reason(one) for one in ratings if one.level != "not measured"]
    table = Table("Levels with what they rest on", _REASONS, rows, name="rated")
    return table.filled()


def _reason(rating: Rating) -> Mapping[str, Any]:
    runtime, precision = rating.fastest or (None, None)
    obstacle = rating.obstacle
    return {
        **{name: getattr(rating, name) for name in ("model", "mode", "backend", "level")},
        **{name: getattr(rating, name) for name in ("share", "share_low", "share_high")},
        "cells": rating.cells,
        "runtime": runtime,
        "precision": precision,
        "verdict": obstacle and obstacle.verdict,
        "reason": obstacle and obstacle.reason,
        "remedy": obstacle and obstacle.remedy,
        "source": rating.source,
    }


def family_section(results: ReportedResults) -> ReportSection:
    """A row for each family: its best backend, int8's memory, scaling with the batch."""
    rows = [_family(one) for one in summarise_families(results.source, results.shown)]
    notes = (
        "Ratios are geometric means, with the least and the greatest of the cells. A question mark"
        " says that most of its cells show no difference beyond intervals and grades.",
    )
    table = Table("Families", _FAMILIES, rows, notes, "families")
    return table_section("families", "Families", table.filled())


def _family(summary: FamilySummary) -> Mapping[str, Any]:
    return {
        "family": summary.family,
        "models": summary.models,
        "backend": summary.backend if summary.is_sure else f"{summary.backend} ?",
        "largest_batch": summary.largest_batch,
        **_mean("speedup", summary.speedup),
        **_mean("memory", summary.int8_memory),
        **_mean("scaling", summary.scaling),
    }


def _mean(name: str, ratio: MeanRatio | None) -> Mapping[str, float | None]:
    if ratio is None:
        return {}
    ends = {f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    return {name: ratio.value, **ends, f"{name}_cells": ratio.cells}


_MOST_ROWS = 1000
_CELL = (
    Field("model"),
    Field("backend"),
    Field("runtime"),
    Field("precision"),
    Field("batch_size", "batch", "number"),
    Field("sequence_length", "tokens", "number"),
)
_GRADE = Field("grade", kind="grade")


def _number(name: str, heading: str, kind: FieldKind = "number", stem: str | None = None) -> Field:
    low, high = (f"{stem}_low_s", f"{stem}_high_s") if stem else (None, None)
    return Field(name, heading, kind, low, high, measured=kind == "number")


_TRAINING = (
    Field("training_precision", "numbers in training"),
    _number("latency_median_ms", "step, ms"),
    _number("forward_median_ms", "forward, ms"),
    _number("loss_median_ms", "loss, ms"),
    _number("backward_median_ms", "backward, ms"),
    _number("optimizer_median_ms", "optimizer, ms"),
    _number("memory_mb", "memory, MB"),
    _GRADE,
)
_STARTS = (
    Field("workers", kind="number"),
    _number("startup_cold_median_s", "cold start, s", stem="startup_cold_median"),
    _number("startup_warm_interpreter_median_s", "warm: interpreter, s"),
    _number("startup_warm_import_median_s", "imports, s"),
    _number("startup_warm_instantiate_median_s", "model, s"),
    _number("startup_warm_weights_median_s", "weights, s"),
    _number("startup_warm_first_query_median_s", "first query, s"),
    _number("concurrent_models_per_second", "models/s at once"),
    _number("concurrent_speedup", "times one alone"),
    _GRADE,
)
_TRIED = (
    Field("queries", kind="number"),
    _number("throughput", "samples/s"),
    _number("latency_median_ms", "median, ms"),
    _number("memory_mb", "memory, MB"),
    Field("found", "chosen"),
)
_EFFICIENCY = (
    Field("mode"),
    Field("part"),
    _number("time_ms", "time, ms"),
    _number("gflop_per_s", "GFLOP/s"),
    _number("peak_gflop_per_s", "peak GFLOP/s"),
    _number("mfu", "share of it", "share"),
    _number("gb_per_s", "GB/s"),
    _number("peak_gb_per_s", "peak GB/s"),
    _number("mbu", "share of it", "share"),
    _number("intensity", "FLOP per byte"),
    Field("bound", "bound by"),
    _GRADE,
)
_ARRIVALS = (
    Field("target_qps", "offered queries/s", "number"),
    Field("slo_ms", "limit, ms", "number"),
    _number("achieved_qps", "answered queries/s"),
    _number("peak_qps", "peak queries/s"),
    _number("latency_median_ms", "median, ms"),
    _number("latency_p99_ms", "p99, ms"),
    _number("service_median_ms", "without waiting, ms"),
    _GRADE,
)


_PARTS = {
    "training_results": ("Parts of a training step", _TRAINING),
    "startup_results": ("Starts and their stages", _STARTS),
    "offline_curve": ("Batches that offline tried", _TRIED),
    "efficiency": ("Achieved arithmetic and memory traffic", _EFFICIENCY),
    "arrival_results": ("Latency at a rate of queries", _ARRIVALS),
}
"""Titles and fields by the view that has the rows."""
_CONDITIONS = {"arrival_results": "scenario = 'server'"}


def part_table(results: ReportedResults, view: str) -> Table:
    """Rows of a view that belong to the report's results; a field without a value is left out."""
    title, fields = _PARTS[view]
    everything = (*_CELL, *fields)
    bounds = [name for field in fields for name in (field.low, field.high) if name]
    names = ", ".join(["result_id", *(field.name for field in everything), *bounds])
    rows = results.ask(f"""
        SELECT {names} FROM {view}
        WHERE result_id IN ({results.ids}) AND {_CONDITIONS.get(view, "true")}
        ORDER BY model, backend, runtime, precision, batch_size, result_id LIMIT {_MOST_ROWS}
    """)
    return Table(title, everything, rows, name=view).filled()


_THROUGHPUT = METRICS["throughput"]
Sections = Callable[[ReportedResults], Sequence[ReportSection]]


@dataclass(frozen=True)
class ReportTopic:
    """A topic of reports: its title and its sections."""

    title: str
    sections: Sections
    """Its own sections, before those that every report has."""
    remedy: str
    """A command that measures what it is about, in words."""
    condition: str = "true"
    """Results that it is about, as a condition in SQL."""


def make_report(topic: str, source: ArrowSource, selection: Selection) -> Report:
    """The report on a topic, from the results of a selection.

    Raises:
        BenchError: the database cannot be read.
    """
    chosen = REPORT_TOPICS[topic]
    condition = f"({selection.condition}) AND {chosen.condition}"
    remembered = RememberedAnswers(source)
    results = reported_results(remembered, replace(selection, condition=condition))
    own = chosen.sections(results)
    sections = (
        ReportSection("charts", "Charts", charts=charts_of(topic, remembered, results.shown)),
        *own,
        *shared_sections(results),
    )
    return Report(
        topic=topic,
        title=chosen.title,
        facts=shared_facts(results.rows),
        answers=[
            *marks_sentences(results),
            *(answer for one in own for table in one.tables for answer in table.answers),
        ],
        sections=[section for section in sections if not section.is_empty],
        details=result_details(results),
        left_out=results.left_out,
        grades=grades_of(results),
    )


def _performance(results: ReportedResults) -> Sequence[ReportSection]:
    return (family_section(results), *_comparisons(results))


def _comparisons(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section(
            "compared",
            "Side by side",
            comparison_table(results, "backend", "Backends"),
            comparison_table(results, "runtime", "Runtimes"),
            comparison_table(results, "precision", "Precisions"),
            comparison_table(results, "mode", "Training beside inference"),
        ),
        table_section("training", "Training", part_table(results, "training_results")),
        table_section("arrivals", "Queries at a rate", part_table(results, "arrival_results")),
    )


def _hardware(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section("devices", "Devices", comparison_table(results, "hardware", "Side by side")),
        table_section("efficiency", "Use of the hardware", part_table(results, "efficiency")),
    )


def _compatibility(results: ReportedResults) -> Sequence[ReportSection]:
    return (rating_section(results),)


def _startup(results: ReportedResults) -> Sequence[ReportSection]:
    return (table_section("starts", "Starts", part_table(results, "startup_results")),)


def _scaling(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section(
            "batches",
            "Batches",
            comparison_table(results, "batch_size", "By batch", _THROUGHPUT),
            part_table(results, "offline_curve"),
        ),
        table_section(
            "lengths",
            "Lengths",
            comparison_table(results, "sequence_length", "By length", _THROUGHPUT),
        ),
        table_section(
            "threads",
            "Threads and workers",
            comparison_table(results, "threads", "Threads"),
            comparison_table(results, "workers", "Workers"),
        ),
    )


def _run(results: ReportedResults) -> Sequence[ReportSection]:
    return (*_comparisons(results), *_scaling(results), *_startup(results))


_MEASURE = "`orchestrator run matrix.yaml` or `orchestrator bench --model NAME` measures"
REPORT_TOPICS: Mapping[str, ReportTopic] = {
    "performance": ReportTopic("Performance", _performance, _MEASURE),
    "hardware": ReportTopic("Hardware", _hardware, _MEASURE),
    "compatibility": ReportTopic("Compatibility", _compatibility, _MEASURE),
    "startup": ReportTopic(
        "Starts",
        _startup,
        "`orchestrator bench --model NAME --mode startup` measures starts",
        "mode = 'startup'",
    ),
    "scaling": ReportTopic(
        "Scaling", _scaling, "`orchestrator bench --model NAME --batch-size 1,2,4,8` measures"
    ),
    "run": ReportTopic("Run", _run, _MEASURE),
}
