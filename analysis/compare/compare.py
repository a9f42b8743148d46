"""Comparison by one property: ratios of a metric against a baseline, group by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare.groups import Group, groups_of
from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.statistics.ratios import Estimate, shows_difference

BASELINES: Mapping[str, Any] = {
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "mode": "inference",
    "batch_size": 1,
}
"""The values that others are compared with where nobody names one and a group has them."""
_SCALES = ("batch_size", "sequence_length")
"""Sizes of which more work is done at once: their throughput has a scaling efficiency."""


@dataclass(frozen=True)
class ComparedValue:
    """One result beside the baseline of its group."""

    name: Any
    """Its value of what the comparison is by, e.g. `openvino`."""
    result: MetricValue
    ratio: float
    """Its value of the metric by the baseline's."""
    interval: Estimate | None
    """The ratio with its 95 % interval; None where a record holds no interval."""
    speedup: float
    """The ratio, or its inverse where less is better: times as good as the baseline."""
    differs: bool | None
    """True if the difference is beyond interval and grades; None where nothing can tell, and for
    the baseline."""
    scaling_efficiency: float | None
    """Throughput by that of the baseline at the same throughput per item, 1 for perfect scaling."""


@dataclass(frozen=True)
class ComparedGroup:
    """The results of one question."""

    shared: Mapping[str, Any]
    """The columns in which they agree."""
    baseline: Any
    """The value that the others are compared with."""
    rows: tuple[ComparedValue, ...]
    """The baseline first, then the best."""
    passed_over: int
    """Results in whose place a better one stands."""


@dataclass(frozen=True)
class ComparisonBy:
    """All comparisons by one property."""

    by: str
    metric: Metric
    groups: tuple[ComparedGroup, ...]
    alone: int
    """Results that have no other one to be compared with."""


def compare_by(
    values: Sequence[MetricValue],
    by: str,
    metric: Metric,
    *,
    baseline: str | None = None,
    across_hosts: bool = False,
) -> ComparisonBy:
    """Compare results that differ in one property alone, and in what follows from it.

    Args:
        values: results with the metric's value.
        by: a key of `DETERMINED`.
        metric: the metric.
        baseline: the value that others are compared with, as text; None for that of `BASELINES`,
            else the least number or the slowest.
        across_hosts: True if results of two machines may be compared.
    """
    groups = groups_of(values, by, metric, across_hosts=across_hosts)
    compared = tuple(
        _compared(group, name, by, metric)
        for group in groups
        if (name := _baseline_of(group, by, metric, baseline)) is not None
    )
    used = sum(len(group.rows) + group.passed_over for group in compared)
    return ComparisonBy(by, metric, compared, len(values) - used)


def _baseline_of(group: Group, by: str, metric: Metric, wanted: str | None) -> Any:
    """The value that stands for 1; None if the group lacks the one that was asked for."""
    if wanted is not None:
        return next((name for name in group.members if str(name) == wanted), None)
    usual = BASELINES.get(by)
    if usual in group.members:
        return usual
    if all(isinstance(name, int | float) for name in group.members):
        return min(group.members)
    slowest = min if metric.more_is_better else max
    return slowest(group.members, key=lambda name: group.members[name].value)


def _compared(group: Group, baseline: Any, by: str, metric: Metric) -> ComparedGroup:
    first = group.members[baseline]
    rows = [_beside(name, one, first, by, metric) for name, one in group.members.items()]
    ordered = sorted(rows, key=lambda row: (row.result is not first, *_order(row)))
    return ComparedGroup(group.shared, baseline, tuple(ordered), group.passed_over)


def _order(row: ComparedValue) -> tuple[Any, ...]:
    """Sizes in their order, all else the best first."""
    return (row.name,) if isinstance(row.name, int | float) else (-row.speedup,)


def _beside(
    name: Any, result: MetricValue, first: MetricValue, by: str, metric: Metric
) -> ComparedValue:
    ratio = result.value / first.value
    interval = differs = None
    if result is not first and result.interval and first.interval:
        interval = result.interval.over(first.interval)
        differs = shows_difference(interval, max(result.grade, first.grade))
    speedup = ratio if metric.more_is_better else 1 / ratio
    scaling = _scaling(result, first, by) if metric.name == "throughput" else None
    return ComparedValue(name, result, ratio, interval, speedup, differs, scaling)


def _scaling(result: MetricValue, first: MetricValue, by: str) -> float | None:
    """Items per second by those of the baseline, by how much larger the size is.

    A sample of a longer sequence is more work, so what counts is tokens per second.
    """
    if by not in _SCALES:
        return None
    larger = result.facts[by] / first.facts[by]
    ratio = result.value / first.value
    return float(ratio / larger if by == "batch_size" else ratio * larger)
