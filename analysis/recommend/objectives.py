"""Objectives: the numbers that candidates are ranked by."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.recommend.figures import Figure
from analysis.results.metrics import METRICS
from runner.contract.cell import Cell

MILLION = 1_000_000
_SECONDS_PER_HOUR = 3600
COST = "cost"


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
    """The cost of a million samples; of a million new tokens where the cell generates them.

    Args:
        throughput: samples per second.
        per_hour: the price of the device for an hour, in any currency.
        cell: the cell that has this throughput.
    """
    things = cell.new_tokens or 1
    return throughput.changed(lambda rate: per_hour / _SECONDS_PER_HOUR / (rate * things) * MILLION)


def cost_unit(currency: str, cell: Cell) -> str:
    """The unit of costs, e.g. `EUR per million samples`."""
    return f"{currency} per million {'tokens' if cell.new_tokens else 'samples'}"
