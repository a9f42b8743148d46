"""Comparability: what values of a metric must agree in, beside their series, to be compared.

Latencies are those of a batch or a rate that a search found, and joules those of the parts of a
machine that counters see.
"""

from collections.abc import Mapping
from dataclasses import replace

from analysis.results.item_time import seeks_peak_sql
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text

FOUND = "found"
"""The fact that tells which batch or rate a search found, of metrics of queries; else null."""
SCOPE = "energy_scope"
"""The fact that tells what joules hold, of metrics of energy; else null."""
UNKNOWN_SCOPE = "unknown"
"""Its value where a record does not tell it."""
SCOPE_SQL = f"coalesce(r.{SCOPE}, {text(UNKNOWN_SCOPE)})"
"""The expression of that fact, where `r` is a row with the columns of a result."""
COMPARABLE: Mapping[str, str] = {FOUND: "batch or rate that was found", SCOPE: "energy scope"}
"""The facts in which values of a metric agree that may be compared, in words."""


def comparable_sql(metric: Metric) -> Mapping[str, str]:
    """The expression of each of these facts, where `r` is a row with the columns of a result."""
    batch_or_rate = f"""CASE WHEN {_IS_OFFLINE} THEN 'batch ' || r.batch_size
        WHEN {seeks_peak_sql()} THEN coalesce(format('rate {{:.4g}}', r.peak_qps), 'no rate')
        END"""
    return {
        FOUND: batch_or_rate if metric.is_of_queries else "NULL",
        SCOPE: SCOPE_SQL if metric.is_of_energy else "NULL",
    }


def comparable_columns(metric: Metric) -> str:
    """These facts as SELECT wants them."""
    return ", ".join(f"{value} AS {name}" for name, value in comparable_sql(metric).items())


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
