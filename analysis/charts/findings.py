"""Findings of charts in words: the best of several results, and if it differs from the next."""

from collections.abc import Sequence

from analysis.charts.words import path_words
from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.statistics.numbers import amount
from analysis.statistics.ratios import shows_difference


def best_of(results: Sequence[MetricValue], metric: Metric) -> str:
    """The best of several results of one question, and how far it is from the next.

    E.g. `the lowest median latency is 3.55 ms, of openvino; cpu onnxruntime's 4.23 ms cannot be
    told from it`.
    """
    sign = -1 if metric.more_is_better else 1
    first, *others = sorted(results, key=lambda one: sign * one.value)
    extreme = "highest" if metric.more_is_better else "lowest"
    best = (
        f"the {extreme} {metric.label} is {_measured(first, metric)}, of {path_words(first.facts)}"
    )
    return f"{best}; {_beside(first, others[0], metric)}" if others else best


def _beside(first: MetricValue, second: MetricValue, metric: Metric) -> str:
    words = f"the next, {_measured(second, metric)} of {path_words(second.facts)},"
    if first.interval is None or second.interval is None:
        return f"{words} may or may not differ: not both have an interval"
    grade = max(first.grade, second.grade)
    if shows_difference(second.interval.over(first.interval), grade):
        return f"{words} differs beyond the intervals"
    if grade == "D":
        return f"{words} is not told from it by numbers of grade D"
    return f"{words} cannot be told from it"


def _measured(result: MetricValue, metric: Metric) -> str:
    return amount(result.value, metric.unit)


def uppercase_first(text: str) -> str:
    """A text that begins a sentence."""
    return text[:1].upper() + text[1:]


def marks_sentence(results: Sequence[MetricValue]) -> str:
    """A sentence on results that others measured or that must not be quoted; empty without any."""
    marks = sorted({mark for one in results for mark in one.marks})
    return f" Hollow points: {', '.join(marks)}." if marks else ""
