"""Curves: a metric against the batch or the sequence, a chart for each question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.charts.chart import Chart
from analysis.charts.findings import best_of, marks_sentence, uppercase_first
from analysis.charts.layers import (
    backends_of,
    error_bars,
    line_layer,
    linear_axis,
    log_axis,
    point_layers,
    point_of,
    size_axis,
    tooltip,
)
from analysis.charts.questions import MOST_CHARTS, groups_over, remainder, richest_questions
from analysis.charts.words import file_stem, path_words, question_words
from analysis.compare.values import MetricValue, metric_values, with_intervals
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

_SIZES: Mapping[str, tuple[str, str]] = {
    "batch_size": ("batch", "samples in a batch"),
    "sequence_length": ("sequence", "tokens in a sequence"),
    "workers": ("workers", "models that start at once"),
}
"""Sizes that curves have, each with its noun and the title of its axis."""
_AT = {"batch_size": "batch {}", "sequence_length": "{} tokens", "workers": "{} workers"}
_FROM_ZERO = ("memory", "models_per_second")
"""Metrics whose scale begins at zero: their values differ little."""


def size_curves(
    source: ArrowSource,
    selection: Selection,
    metric_names: Sequence[str],
    over: str = "batch_size",
    limit: int = MOST_CHARTS,
) -> tuple[Chart, ...]:
    """Charts of metrics against a size, one for each question; empty without two sizes."""
    questions = richest_questions(source, selection, over, limit)
    if questions is None:
        return ()
    charts: list[Chart] = []
    for metric in map(METRICS.__getitem__, metric_names):
        values = metric_values(source, questions.selection, metric)
        groups = groups_over(with_intervals(source, values, metric).values(), over)
        curves = [curve(_best(group, metric, over), metric, over) for group in groups]
        charts += with_remainder(curves, questions.left_out)
    return tuple(charts)


def _best(results: Sequence[MetricValue], metric: Metric, over: str) -> list[MetricValue]:
    """The best result of each machine and size, where several runs have one."""
    sign = 1 if metric.more_is_better else -1
    best: dict[tuple[object, ...], MetricValue] = {}
    for one in sorted(results, key=lambda result: sign * result.value):
        facts = one.facts
        machine = (facts["source"], facts["hardware"], facts["threads"], facts["launcher"])
        best[path_words(facts), facts[over], *machine] = one
    return sorted(best.values(), key=lambda one: (one.cell_id, str(one.facts["result_id"])))


def with_remainder(charts: Sequence[Chart], left_out: int) -> tuple[Chart, ...]:
    """The charts; the last of them tells how many questions have none."""
    if not charts:
        return ()
    *first, last = charts
    return (*first, replace(last, sentence=last.sentence + remainder(left_out)))


def curve(results: Sequence[MetricValue], metric: Metric, over: str) -> Chart:
    """The chart of results of one question: a line for each backend and runtime."""
    noun, axis_title = _SIZES[over]
    points = [point_of(one, metric, size=one.facts[over]) for one in results]
    backends = backends_of(points)
    vertical = (
        linear_axis("value", metric.heading)
        if metric.name in _FROM_ZERO
        else log_axis("value", metric.heading, points)
    )
    facts = results[0].facts
    question = question_words(facts, over)
    return Chart(
        file_stem(metric.name, "by", noun, question),
        f"{uppercase_first(metric.label)} by {noun} · {question}",
        _sentence(results, metric, over) + marks_sentence(results),
        {
            "data": {"values": points},
            "encoding": {
                "x": size_axis("size", axis_title, (point["size"] for point in points)),
                "y": vertical,
            },
            "layer": [
                line_layer(points),
                *error_bars(points),
                *point_layers(points, tooltip(metric.label, "size")),
            ],
        },
        backends,
    )


def _sentence(results: Sequence[MetricValue], metric: Metric, over: str) -> str:
    largest = max(one.facts[over] for one in results)
    at_largest = [one for one in results if one.facts[over] == largest]
    finding = uppercase_first(f"at {_AT[over].format(largest)} {best_of(at_largest, metric)}.")
    span = _span(results, metric, over)
    return f"{finding} {_growth(*span, metric, over)}" if span else finding


def _growth(first: MetricValue, last: MetricValue, metric: Metric, over: str) -> str:
    change = last.value / first.value
    ends = f"{amount(first.value, metric.unit)} to {amount(last.value, metric.unit)}"
    return (
        f"From {_AT[over].format(first.facts[over])} to {last.facts[over]},"
        f" {path_words(last.facts)} goes from {ends}, times {change:.2f}."
    )


def _span(
    results: Sequence[MetricValue], metric: Metric, over: str
) -> tuple[MetricValue, MetricValue] | None:
    """The ends of the curve that is the best where it ends, of those that reach furthest."""
    curves: dict[str, list[MetricValue]] = {}
    for one in sorted(results, key=lambda result: result.facts[over]):
        curves.setdefault(path_words(one.facts), []).append(one)
    ends = [
        (one[0], one[-1]) for one in curves.values() if one[0].facts[over] != one[-1].facts[over]
    ]
    sign = 1 if metric.more_is_better else -1
    return max(ends, key=lambda end: (end[1].facts[over], sign * end[1].value), default=None)
