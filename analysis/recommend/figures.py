"""Figures of candidates: numbers that were measured or predicted, and those to rank by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from analysis.results.metrics import METRICS
from analysis.statistics.ratios import PROMISES, Estimate, shows_difference
from runner.contract.cell import Cell
from runner.contract.record.verdict import Grade

Basis: TypeAlias = Literal["measured", "predicted"]
WORST_GRADE: Grade = "D"
MILLION = 1_000_000
_SECONDS_PER_HOUR = 3600
COST = "cost"


@dataclass(frozen=True)
class Figure:
    """A number of a candidate, in customary units, with its interval."""

    value: float
    """Above 0."""
    interval: Estimate | None
    """The value with its interval: at 95 % where it was measured, at 90 % where it is predicted;
    None where nothing tells one, as of memory that was measured."""
    basis: Basis
    grade: Grade | None = None
    """The grade of what was measured; None of what is predicted."""
    marks: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """Parts of the question outside of what was measured; empty where the interval holds."""
    scope: str | None = None
    """The scope of joules, or that it is unknown; None of other numbers."""

    @property
    def is_measured(self) -> bool:
        return self.basis == "measured"

    @property
    def high(self) -> float:
        """The upper end of the interval, or the value where there is none."""
        return self.interval.high if self.interval else self.value

    @property
    def times(self) -> Estimate | None:
        alone = Estimate(self.value, self.value, self.value) if self.is_measured else None
        return self.interval or alone

    def changed(self, change: Callable[[float], float]) -> "Figure":
        """The figure of what follows from this one, be it growing or falling with it."""
        interval = None
        if self.interval:
            ends = sorted(map(change, (self.interval.low, self.interval.high)))
            interval = Estimate(change(self.interval.value), *ends)
        return replace(self, value=change(self.value), interval=interval)


def told_apart(one: Figure, other: Figure) -> bool | None:
    """True if two figures differ by more than what is not known of them; None if nothing tells.

    Two measured ones differ where `shows_difference` says so. Beside a prediction the interval of
    their ratio must leave out 1. An extrapolation differs from nothing, and so does a measurement
    of grade D.
    """
    if one.outside or other.outside:
        return False
    if one.is_measured and other.is_measured and not (one.interval and other.interval):
        return None
    first, second = one.times, other.times
    if first is None or second is None:
        return False
    ratio = first.over(second)
    grades = [figure.grade or WORST_GRADE for figure in (one, other) if figure.is_measured]
    if len(grades) == 2:
        return shows_difference(ratio, max(grades))
    if any(figure.interval and grade not in PROMISES for figure, grade in _graded(one, other)):
        return False
    return not ratio.low <= 1 <= ratio.high


def _graded(*figures: Figure) -> list[tuple[Figure, Grade]]:
    return [(one, one.grade or WORST_GRADE) for one in figures if one.is_measured]


@dataclass(frozen=True)
class Objective:
    """A number that candidates are ranked by."""

    name: str
    metric: str
    """The metric of results, and the target of predictors, that it follows from."""
    label: str
    unit: str
    scale: float
    """The metric's customary unit by the base unit of predictions."""
    best: str
    """The superlative for the first of a ranking."""
    more_is_better: bool = False


def _of_metric(name: str, scale: float, best: str) -> Objective:
    metric = METRICS[name]
    return Objective(name, name, metric.label, metric.unit, scale, best, metric.more_is_better)


OBJECTIVES: Mapping[str, Objective] = {
    objective.name: objective
    for objective in (
        _of_metric("latency", 1e3, "fastest"),
        _of_metric("throughput", 1.0, "highest throughput"),
        _of_metric("memory", 1e-6, "least memory"),
        _of_metric("energy", 1.0, "least energy"),
        Objective(COST, "throughput", "cost", "", 1.0, "cheapest"),
    )
}
"""By name. A cost follows from throughput and a price per hour."""


def cost_figure(throughput: Figure, per_hour: float, cell: Cell) -> Figure:
    """The cost of a million samples, or new tokens, by samples per second and a price per hour."""
    things = cell.new_tokens or 1
    return throughput.changed(lambda rate: per_hour / _SECONDS_PER_HOUR / (rate * things) * MILLION)


def cost_unit(currency: str, cell: Cell) -> str:
    """The unit of costs, e.g. `EUR per million samples`."""
    return f"{currency} per million {'tokens' if cell.new_tokens else 'samples'}"
