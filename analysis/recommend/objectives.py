"""Objectives: the numbers that candidates are ranked by."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.recommend.figures import Figure
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


OBJECTIVES: Mapping[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective("latency", "latency", "median latency", "ms", 1e3, "fastest"),
        Objective(
            *("throughput", "throughput", "throughput", "samples/s", 1.0, "highest throughput"),
            more_is_better=True,
        ),
        Objective("memory", "memory", "memory", "MB", 1e-6, "least memory"),
        Objective("energy", "energy", "energy per sample", "J", 1.0, "least energy"),
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
