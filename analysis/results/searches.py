"""Searches find a batch or a rate, on which metrics depend: which of them compare results."""

from dataclasses import replace

from analysis.results.item_time import seeks_peak_sql
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource

FOUND = "found"
"""The fact that tells which batch or rate a search found, where a metric depends on it; else null.
Only results that agree in it have values of such a metric that may be compared."""


def found_sql(metric: Metric) -> str:
    """The fact `found` for a metric, where `r` is a row with the columns of a result."""
    if not metric.is_of_queries:
        return "NULL"
    return f"""CASE WHEN {_IS_OFFLINE} THEN 'batch ' || r.batch_size
        WHEN {seeks_peak_sql()} THEN coalesce(format('rate {{:.4g}}', r.peak_qps), 'no rate')
        END"""


def usual_metrics(source: ArrowSource, selection: Selection) -> tuple[Metric, ...]:
    """The metrics by which the speeds of these results are judged, each of its own scenarios.

    They are throughput for offline, the peak where one was sought, else the median latency.
    """
    counts = ", ".join(f"bool_or({metric.condition}) AS {metric.name}" for metric in _USUAL)
    (measured,) = source.arrow(f"SELECT {counts} FROM {selection.verdicts} r").to_pylist()
    return tuple(metric for metric in _USUAL if measured[metric.name]) or _USUAL[:1]


_IS_OFFLINE = "r.scenario = 'offline'"
_USUAL = (
    replace(METRICS["latency"], condition=f"({_IS_OFFLINE} OR {seeks_peak_sql()}) IS NOT TRUE"),
    replace(METRICS["throughput"], condition=_IS_OFFLINE),
    replace(METRICS["peak_qps"], condition=seeks_peak_sql()),
)
