"""Curves: a metric against the batch or the sequence, a chart for each question."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import (
    backends_of,
    error_bars,
    line_layer,
    metric_axis,
    point_layers,
    point_of,
    size_axis,
    tooltip,
)
from analysis.charts.questions import MOST_CHARTS, richest_questions
from analysis.charts.words import file_stem, path_words, question_words, uppercase_first
from analysis.compare.values import MetricValue, metric_values, with_intervals
from analysis.results.metrics import Metric
from analysis.results.selection import Selection, metrics_of
from analysis.results.series import agreeing_columns
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

_SIZES: Mapping[str, tuple[str, str, str]] = {
    "batch_size": ("batch", "samples in a batch", "batch {}"),
    "sequence_length": ("sequence", "tokens in a sequence", "{} tokens"),
    "workers": ("workers", "models that start at once", "{} workers"),
}
"""Sizes that curves have, each with its noun, the title of its axis and the words for a value."""


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
    chosen, left_out = questions
    charts: list[Chart] = []
    for metric in metrics_of(selection, metric_names):
        values = with_intervals(source, metric_values(source, chosen, metric), metric).values()
        curves = [
            _curve(_best(group, metric, over), metric, over) for group in _groups(values, over)
        ]
        charts += with_remainder(curves, left_out)
    return tuple(charts)


def _groups(results: Iterable[MetricValue], over: str) -> list[list[MetricValue]]:
    """Results by question: backends, runtimes and values of this column side by side."""
    columns = [name for name in agreeing_columns("backend") if name != over]
    groups: dict[tuple[Any, ...], list[MetricValue]] = defaultdict(list)
    for value in results:
        groups[tuple(value.facts[name] for name in columns)].append(value)
    several = [group for group in groups.values() if len({one.facts[over] for one in group}) > 1]
    return sorted(several, key=lambda group: -len(group))


def _best(results: Sequence[MetricValue], metric: Metric, over: str) -> list[MetricValue]:
    """The best result of each machine and size, where several runs have one."""
    best: dict[tuple[object, ...], MetricValue] = {}
    for one in sorted(results, key=lambda result: _worth(result, metric)):
        facts = one.facts
        machine = (facts["source"], facts["hardware"], facts["threads"], facts["launcher"])
        best[path_words(facts), facts[over], *machine] = one
    return sorted(best.values(), key=lambda one: (one.cell_id, str(one.facts["result_id"])))


def _worth(result: MetricValue, metric: Metric) -> float:
    """The value, negative where less is better."""
    return result.value if metric.more_is_better else -result.value


def with_remainder(charts: Sequence[Chart], left_out: int) -> list[Chart]:
    """The charts; the last of them tells how many questions have none."""
    if not (charts and left_out):
        return [*charts]
    *first, last = charts
    noun = "question has" if left_out == 1 else "questions have"
    words = f" {left_out} more {noun} no chart here: choose them with `--select`."
    return [*first, replace(last, sentence=last.sentence + words)]


def _curve(results: Sequence[MetricValue], metric: Metric, over: str) -> Chart:
    noun, axis_title, _ = _SIZES[over]
    points = [
        point_of(one, metric, size=one.facts[over], undecided=one.grade == "D") for one in results
    ]
    question = question_words(results[0].facts, over)
    marks = sorted({mark for one in results for mark in one.marks})
    if any(one.grade == "D" and not one.is_imported for one in results):
        marks.append("grade D")
    hollow = f" Hollow points: {', '.join(marks)}." if marks else ""
    return Chart(
        file_stem(metric.name, "by", noun, question),
        f"{uppercase_first(metric.label)} by {noun} · {question}",
        _sentence(results, metric, over) + hollow,
        {
            "data": {"values": points},
            "encoding": {
                "x": size_axis("size", axis_title, (point["size"] for point in points)),
                "y": metric_axis(metric, points),
            },
            "layer": [
                line_layer(points),
                *error_bars(points),
                *point_layers(points, tooltip(metric.label, "size")),
            ],
        },
        backends_of(points),
    )


def _sentence(results: Sequence[MetricValue], metric: Metric, over: str) -> str:
    at = _SIZES[over][2].format
    largest = max(one.facts[over] for one in results)
    at_largest = [one for one in results if one.facts[over] == largest]
    finding = uppercase_first(f"at {at(largest)} {_best_words(at_largest, metric)}.")
    span = _span(results, metric, over)
    if span is None:
        return finding
    first, last = span
    ends = f"{amount(first.value, metric.unit)} to {amount(last.value, metric.unit)}"
    return (
        f"{finding} From {at(first.facts[over])} to {last.facts[over]}, {path_words(last.facts)}"
        f" goes from {ends}, times {last.value / first.value:.2f}."
    )


def _best_words(results: Sequence[MetricValue], metric: Metric) -> str:
    """The best of several results of one question, and how far it is from the next."""
    first, *others = sorted(results, key=lambda one: -_worth(one, metric))
    extreme = "highest" if metric.more_is_better else "lowest"
    value = amount(first.value, metric.unit)
    best = f"the {extreme} {metric.label} is {value}, of {path_words(first.facts)}"
    return f"{best}; {_beside(first, others[0], metric)}" if others else best


def _beside(first: MetricValue, second: MetricValue, metric: Metric) -> str:
    words = second.outcome_beside(first, metric).words(metric)
    return (
        f"the next, {amount(second.value, metric.unit)} of {path_words(second.facts)}, is {words}"
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
    return max(ends, key=lambda end: (end[1].facts[over], _worth(end[1], metric)), default=None)
