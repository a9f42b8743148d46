"""Intervals of compared values: what those of records hold for, and those of totals per second.

A record has intervals of medians and percentiles. A total per second follows from all durations,
so its interval is made here the same way: Student's t over the mean durations of the launches; with
one launch that of its durations, widened by what fresh processes differ by.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any, Literal

from analysis.compare.values import MetricValue, Replication
from analysis.results.metrics import Metric
from analysis.results.process_spread import spread_degrees
from analysis.results.source import ArrowSource, text
from analysis.statistics.ratios import Estimate
from runner.contract.confidence import GROWING_CONFIDENCE, INTERVAL_CONFIDENCE, students_t

_OF_PROCESSES = (
    *("result_id", "rounds", "process_spread", "process_spread_processes"),
    *("process_spread_degrees", "process_spread_queue"),
)
_SUM_AGREES = 0.01
"""Most by which the sum of durations may be off the steady time: in `server` queries overlap."""
_AT_ONCE = 5_000
"""Results that are asked for in one question."""
_TIMES = {
    "query": "r.latency_median_{}s",
    "step": "r.latency_median_{}s",
    "prefill": "r.time_to_first_token_median_{}s",
    "decode": "r.time_per_output_token_median_{}s",
}
"""The time of each part of a result, whose inverse its efficiency is."""
_PART_TIMES = ", ".join(
    f"'{part}': [{', '.join(column.format(end) for end in ('low_', '', 'high_'))}]"
    for part, column in _TIMES.items()
)
_MEANS = """
    list_transform(range(1, len(r.round_iterations) + 1), lambda number: list_avg(list_slice(
        w.durations_ns, coalesce(list_sum(r.round_iterations[:number - 1]), 0)::BIGINT + 1,
        list_sum(r.round_iterations[:number])::BIGINT)) / 1e9)
"""
_SUM_FITS = f"""(list_sum(r.round_iterations) = len(w.durations_ns)
    AND abs(list_sum(w.durations_ns) / 1e9 / r.steady_time_s - 1) <= {_SUM_AGREES})"""


def with_intervals(
    source: ArrowSource, values: Iterable[MetricValue], metric: Metric
) -> dict[tuple[str, str | None], MetricValue]:
    """The values with their intervals and what these hold for, by result and part.

    Raw durations are read for totals alone.
    """
    known = list(values)
    ids = sorted({str(value.facts["result_id"]) for value in known})
    rows: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(ids), _AT_ONCE):
        sql = _question(ids[start : start + _AT_ONCE], metric)
        rows |= {row["result_id"]: row for row in source.arrow(sql).to_pylist()}
    return {key_of(value): _completed(value, rows, metric) for value in known}


def key_of(value: MetricValue) -> tuple[str, str | None]:
    """The result of a value, and the part of it."""
    return str(value.facts["result_id"]), value.facts["part"]


def _question(ids: Sequence[str], metric: Metric) -> str:
    named = f"r.result_id IN ({', '.join(map(text, ids))})"
    columns = ", ".join(f"r.{name}" for name in _OF_PROCESSES)
    if metric.interval != "total":
        return f"""SELECT {columns}, {{{_PART_TIMES}}} AS times FROM benchmark_results r
            WHERE {named}"""
    return f"""
        SELECT {columns}, r.latency_mean_s, r.latency_stddev_s, r.effective_iterations,
            r.effective_rounds, r.round_degrees, CASE WHEN {_SUM_FITS} THEN {_MEANS} END AS means
        FROM benchmark_results r JOIN raw_benchmark_data w USING (result_id) WHERE {named}
    """


def _completed(
    value: MetricValue, rows: Mapping[str, Mapping[str, Any]], metric: Metric
) -> MetricValue:
    row = rows.get(str(value.facts["result_id"]))
    if row is None:
        return value
    interval = value.interval
    if metric.interval == "total":
        interval = _of_total(value.value, row)
    elif metric.interval == "inverse":
        interval = _of_inverse(value, row["times"])
    basis = _basis(value, row) if interval else None
    return replace(value, interval=interval, basis=basis)


def _of_total(value: float, row: Mapping[str, Any]) -> Estimate | None:
    """The interval of a total per second, from the relative error of the mean duration."""
    means = row["means"]
    if not means or None in means:
        return None
    error = _error_of_several(means, row) if len(means) > 1 else _error_of_one(row)
    if error is None:
        return None
    high = value / (1 - error) if error < 1 else value * (1 + error)
    return Estimate(value, value / (1 + error), high)


def _error_of_several(means: Sequence[float], row: Mapping[str, Any]) -> float:
    """Half the interval of the launches' mean, by that mean.

    It is as wide as if the number of launches had grown until it was narrow, which records do not
    tell.
    """
    rounds = row["effective_rounds"] or len(means)
    quantile = students_t(row["round_degrees"] or len(means) - 1, GROWING_CONFIDENCE)
    return float(quantile * stdev(means) / math.sqrt(rounds) / fmean(means))


def _error_of_one(row: Mapping[str, Any]) -> float | None:
    """The same of one launch: of its durations and of fresh processes."""
    count, deviation = row["effective_iterations"], row["latency_stddev_s"]
    spread = row["process_spread"]
    if not count or count < 2 or deviation is None or spread is None:
        return None
    quantile = students_t(int(count) - 1, INTERVAL_CONFIDENCE)
    within = quantile * deviation / math.sqrt(count) / row["latency_mean_s"]
    degrees = spread_degrees(row["process_spread_degrees"])
    return math.hypot(within, students_t(degrees, INTERVAL_CONFIDENCE) * spread)


def _of_inverse(value: MetricValue, times: Mapping[str, Sequence[float | None]]) -> Estimate | None:
    """The interval of what is the inverse of a time, from that of the time."""
    if value.facts["scenario"] == "server":
        return None
    low, middle, high = times[value.facts["part"]]
    if not low or not middle or not high:
        return None
    return Estimate(value.value, value.value * middle / high, value.value * middle / low)


def _basis(value: MetricValue, row: Mapping[str, Any]) -> Replication:
    of_starts, launches = value.facts["mode"] == "startup", row["rounds"] or 1
    deviation = row["process_spread"]
    if launches > 1 or deviation is None:
        return Replication(of_starts, launches)
    spread: Literal["default", "calibrated"] = (
        "default" if row["process_spread_processes"] is None else "calibrated"
    )
    return Replication(of_starts, 1, spread, deviation, in_queue=bool(row["process_spread_queue"]))
