"""Comparisons drawn: the speed-up of each result over the baseline of its question."""

from collections.abc import Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import (
    Point,
    backends_of,
    error_bars,
    log_axis,
    named_rows,
    point_layers,
    point_of,
    row_names,
    tooltip,
)
from analysis.charts.questions import richest_questions
from analysis.charts.words import distinct_rows, file_stem, noun_count, path_words, size_words
from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy, compare_by
from analysis.compare.values import metric_values, with_intervals
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

_MOST_ROWS = 30
"""Rows of one drawing; more are noun_count, the greatest ratios stay."""
_QUESTIONS = 60
"""Questions of which a report's drawing takes its rows."""
_STEP = 34
"""Height of a row with its words above the mark, pixels."""


def property_comparison(
    source: ArrowSource,
    selection: Selection,
    by: str,
    metric_names: Sequence[str] = ("latency", "throughput"),
) -> tuple[Chart, ...]:
    """The comparison by this property of the questions with most values; empty without one.

    It is by the first of the metrics that tells anything: others' files may hold one of them alone.
    """
    column = "run_id" if by == "run" else by
    questions = richest_questions(source, selection, column, _QUESTIONS)
    if questions is None:
        return ()
    for metric in map(METRICS.__getitem__, metric_names):
        values = metric_values(source, questions.selection, metric)
        complete = with_intervals(source, values, metric)
        chart = comparison_chart(compare_by([*complete.values()], by, metric))
        if chart:
            return (chart,)
    return ()


def comparison_chart(comparison: ComparisonBy) -> Chart | None:
    """The ratios of all questions; None if nothing is compared."""
    metric, by = comparison.metric, comparison.by
    compared = [
        (group, row)
        for group in comparison.groups
        for row in group.rows
        if row.result is not group.rows[0].result
    ]
    if not compared:
        return None
    compared.sort(key=lambda pair: -pair[1].speedup)
    shown = _ends(compared)
    points = [_point(group, row, comparison) for group, row in shown]
    hosts = (row.result.facts["hostname"] for _, row in shown)
    rows = distinct_rows(zip((point["row"] for point in points), hosts, strict=True))
    points = [{**point, "row": name} for point, name in zip(points, rows, strict=True)]
    baselines = sorted({str(group.baseline) for group in comparison.groups})
    beside = baselines[0] if len(baselines) == 1 else "the baseline of each"
    title = f"Speed-up by {by.replace('_', ' ')}: {metric.label} against that of {beside}"
    return Chart(
        file_stem("compare", by, metric.name),
        title,
        _sentence(compared, comparison) + _left_out(len(compared) - len(shown)),
        _spec(points, metric, f"times as good as {beside}"),
        backends_of(points),
    )


def _ends(compared: list[tuple[ComparedGroup, ComparedValue]]) -> list[Any]:
    """The greatest speed-ups and the least, as many as one drawing holds."""
    half = _MOST_ROWS // 2
    return compared if len(compared) <= _MOST_ROWS else [*compared[:half], *compared[-half:]]


def _point(group: ComparedGroup, row: ComparedValue, comparison: ComparisonBy) -> Point:
    interval = row.speedup_interval
    facts = row.result.facts
    path = "" if comparison.by in {"backend", "runtime"} else path_words(facts)
    name = path_words(facts) if comparison.by in {"backend", "runtime"} else str(row.name)
    others = [str(facts[name]) for name in _NAMED if name != comparison.by and facts.get(name)]
    others = [word for word in others if word not in _USUAL]
    counts = {noun: facts.get(name) for name, noun in _COUNTS.items()}
    others += [f"{count} {noun}" for noun, count in counts.items() if count is not None]
    words = ", ".join(filter(None, [path, *others, *size_words(facts, comparison.by)]))
    return {
        **point_of(row.result, comparison.metric),
        "row": f"{name} · {words}",
        "speedup": row.speedup,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "times": f"{amount(row.speedup)} over {group.baseline}",
        "between": f"{amount(interval.low)} to {amount(interval.high)}"
        if interval
        else "not known",
        "differs": {True: "yes", False: "no", None: "not known"}[row.differs],
    }


def _spec(points: Sequence[Point], metric: Metric, axis_title: str) -> dict[str, Any]:
    order = list(dict.fromkeys(point["row"] for point in points))
    both = [*points, {"speedup": 1.0}]
    rows = named_rows(order, _STEP)
    y = {**rows["encoding"]["y"], "scale": {"paddingOuter": 0.1}}
    return {
        "data": {"values": points},
        **rows,
        "encoding": {"y": y, "x": log_axis("speedup", axis_title, both, "speedup", "low", "high")},
        "layer": [
            row_names(),
            {"mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.6}, "encoding": _AT_ONE},
            *error_bars(points, "x"),
            *point_layers(points, [*_SHOWN, *tooltip(metric.label)]),
        ],
    }


_NAMED = ("model", "precision", "mode", "scenario", "training_precision", "part")
_USUAL = frozenset({"inference", "single_stream", "mixed", "query", "step"})
_COUNTS = {"workers": "workers", "asked_threads": "threads"}
_AT_ONE = {"x": {"datum": 1}, "y": {"value": 0}, "y2": {"value": "height"}}
"""The place of the baseline."""
_SHOWN = [
    {"field": "times", "title": "speed-up"},
    {"field": "between", "title": "95 % interval of it"},
    {"field": "differs", "title": "beyond interval and grades"},
]


def _sentence(
    compared: Sequence[tuple[ComparedGroup, ComparedValue]], comparison: ComparisonBy
) -> str:
    group, best = compared[0]
    shown = sum(row.differs is True for _, row in compared)
    unknown = sum(row.differs is None for _, row in compared)
    verb = "differs" if shown == 1 else "differ"
    without = f", {unknown} without an interval that could show one" if unknown else ""
    ratios = noun_count(len(compared), "ratio")
    return (
        f"Of {ratios} in {noun_count(len(comparison.groups), 'question')},"
        f" {shown} {verb} from 1 beyond intervals and grades{without}. The greatest speed-up"
        f" is {amount(best.speedup)}, of {path_words(best.result.facts)} against"
        f" {group.baseline} in {best.result.cell_id}."
    )


def _left_out(number: int) -> str:
    return (
        f" {noun_count(number, 'ratio')} between the ends drawn here are in the table."
        if number
        else ""
    )
