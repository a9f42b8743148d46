"""The values of a metric that each launch of a result gave, as expressions in SQL.

A record keeps the median of each launch, and all durations, one launch behind the other. What one
launch says of other metrics follows from them; where it does not, the result is one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.results.metrics import METRICS, Metric

_FIRST = "w.part_durations_ns['first_token']"
"""Durations to the first token of each iteration."""
_PER_TOKEN = f"""list_transform(list_zip(w.durations_ns, {_FIRST}),
    lambda pair: (pair[1] - pair[2]) / (b.new_tokens - 1))"""
_PERCENTILES: Mapping[str, float] = {
    "latency_p90_ms": 0.9,
    "latency_p95_ms": 0.95,
    "latency_p99_ms": 0.99,
    "latency_p999_ms": 0.999,
}
_AS_NOISY = frozenset(METRICS[name].column for name in ("latency", "ttft", "tpot"))
"""Columns, beside totals, that follow from what launches usually take."""
_TOOK_TURNS = """coalesce(b.interleaved_with IS NOT NULL
    OR b.run_id IN (SELECT interleaved_with FROM benchmark_results), false)"""
"""True of results whose launches took turns with another run's: there a launch is a round."""
_RAW = "LEFT JOIN raw_benchmark_data w ON w.result_id = b.result_id"
_RAW_OF_STARTS = """
    LEFT JOIN (
        SELECT result_id, durations_ns FROM raw_benchmark_data WHERE result_id IN (
            SELECT result_id FROM benchmark_results WHERE mode = 'startup')
    ) w ON w.result_id = b.result_id
"""


@dataclass(frozen=True)
class LaunchValues:
    """The list of a metric's values by launch, where `b` is the row of `benchmark_results`."""

    expression: str
    """A list in the metric's unit; null where only the result's own value is known."""
    join: str = ""
    """The join that reads raw durations."""


def is_as_noisy_as_latency(metric: Metric) -> bool:
    """True if the spread of median latencies, which hosts are calibrated by, is that of a metric.

    That of a percentile, of memory or of energy is another one.
    """
    return metric.interval == "total" or metric.column in _AS_NOISY


def launch_values(metric: Metric, value: str) -> LaunchValues:
    """The expression for a metric.

    Args:
        metric: the metric.
        value: the expression of the result's own value.
    """
    column = metric.column
    if column == METRICS["latency"].column:
        starts = f"CASE WHEN b.mode = 'startup' AND NOT {_TOOK_TURNS} THEN w.durations_ns END"
        medians = "list_transform(b.round_medians, lambda median: median * 1e3)"
        return LaunchValues(f"coalesce({_in_ms(starts)}, {medians})", _RAW_OF_STARTS)
    if metric.interval == "total":
        means = _by_launch("list_avg({})", "w.durations_ns")
        total = f"{value} * list_avg(w.durations_ns)"
        return _if_whole(f"list_transform({means}, lambda mean: {total} / mean)")
    if column in _PERCENTILES:
        quantile = f"list_aggregate({{}}, 'quantile_cont', {_PERCENTILES[column]})"
        return _if_whole(_in_ms(_by_launch(quantile, "w.durations_ns")))
    if column == METRICS["ttft"].column:
        return _if_whole(_in_ms(_by_launch("list_median({})", _FIRST)), parts=True)
    if column == METRICS["tpot"].column:
        return _if_whole(_in_ms(_by_launch("list_median({})", _PER_TOKEN)), parts=True)
    return LaunchValues("NULL::DOUBLE[]")


def _by_launch(statistic: str, values: str) -> str:
    """A statistic of each launch's part of a list."""
    part = f"""list_slice({values},
        coalesce(list_sum(b.round_iterations[:number - 1]), 0)::BIGINT + 1,
        list_sum(b.round_iterations[:number])::BIGINT)"""
    numbers = "range(1, len(b.round_iterations) + 1)"
    return f"list_transform({numbers}, lambda number: {statistic.format(part)})"


def _in_ms(values: str) -> str:
    return f"list_transform({values}, lambda duration: duration / 1e6)"


def _if_whole(values: str, *, parts: bool = False) -> LaunchValues:
    """The values where the durations are those of the launches, all of them."""
    whole = "list_sum(b.round_iterations) = len(w.durations_ns)"
    if parts:
        whole += f" AND len({_FIRST}) = len(w.durations_ns)"
    return LaunchValues(f"CASE WHEN {whole} THEN {values} END", _RAW)
