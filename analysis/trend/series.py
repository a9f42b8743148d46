"""Series over time: the results of one cell in their order, and its steps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.statistics.ratios import Estimate, shows_difference


@dataclass(frozen=True)
class TrendStep:
    """A change of a series: the last result before it and the first one behind."""

    before: MetricValue
    after: MetricValue
    ratio: Estimate
    """The value after by the one before, or the level after by the one before."""
    changes: tuple[str, ...] | None = None
    """Differences of image, commit, libraries and machine between them; None until looked up."""


@dataclass(frozen=True)
class TrendSeries:
    """The results of one series that have a value, at least two, in their order of time."""

    metric: Metric
    values: tuple[MetricValue, ...]
    steps: tuple[TrendStep, ...] = ()
    """Its steps, the greatest first."""
    by_level: bool = False
    """True if they are change points of its launches; False if they are neighbours that differ."""

    @property
    def cell_id(self) -> str:
        return self.first.cell_id

    @property
    def first(self) -> MetricValue:
        """The oldest result."""
        return self.values[0]

    @property
    def last(self) -> MetricValue:
        """The newest result."""
        return self.values[-1]

    @cached_property
    def best(self) -> MetricValue:
        """The result with the best number."""
        sign = -1 if self.metric.more_is_better else 1
        return min(self.values, key=lambda one: sign * one.value)

    @property
    def ratio(self) -> float:
        """The last value by the first."""
        return self.last.value / self.first.value

    @cached_property
    def interval(self) -> Estimate | None:
        """That ratio with its 95 % interval; None where one of both has none."""
        return _ratio(self.first, self.last)

    @property
    def differs(self) -> bool | None:
        """True if the last differs from the first beyond intervals and grades; None: not known."""
        return _differ(self.first, self.last)

    @property
    def is_better(self) -> bool:
        """True if the last value is better than the first, by however little."""
        return (self.ratio > 1) == self.metric.more_is_better

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of its newest result."""
        return self.last.facts


def neighbour_steps(values: Sequence[MetricValue]) -> tuple[TrendStep, ...]:
    """The neighbours that differ beyond intervals and grades, the greatest step first."""
    return greatest_first(
        TrendStep(before, after, ratio)
        for before, after in pairwise(values)
        if (ratio := _ratio(before, after)) is not None and _differ(before, after)
    )


def greatest_first(steps: Iterable[TrendStep]) -> tuple[TrendStep, ...]:
    """The steps by their size, whatever their direction."""
    return tuple(sorted(steps, key=lambda step: -abs(math.log(step.ratio.value))))


def _ratio(before: MetricValue, after: MetricValue) -> Estimate | None:
    if before.interval is None or after.interval is None:
        return None
    return after.interval.over(before.interval)


def _differ(before: MetricValue, after: MetricValue) -> bool | None:
    ratio = _ratio(before, after)
    return None if ratio is None else shows_difference(ratio, max(before.grade, after.grade))
