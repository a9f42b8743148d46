"""Targets of predictions: numbers of results, and how they follow from time, bytes or joules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from analysis.predict.examples.placements import Placement
from analysis.results.metrics import METRICS

Quantity: TypeAlias = Literal["time", "memory", "energy"]


@dataclass(frozen=True)
class Target:
    """A number of results that is predicted."""

    name: str
    column: str
    """The column of records, in base units."""
    quantity: Quantity
    label: str
    unit: str
    """The base unit of the column."""
    more_is_better: bool = False

    @property
    def predicted_column(self) -> str:
        """The name of the column that holds predictions."""
        return f"{self.column}_predicted"

    def amount(self, value: float, placement: Placement) -> float:
        """The amount that one query takes: seconds, bytes or joules."""
        if self.name == "throughput":
            return placement.batch_size / value
        return value * placement.batch_size if self.name == "energy" else value

    def value(self, amount: float, placement: Placement) -> float:
        """The number of results that such an amount for one query makes."""
        if self.name == "throughput":
            return placement.batch_size / amount
        return amount / placement.batch_size if self.name == "energy" else amount


def _of_metric(name: str, column: str, quantity: Quantity, unit: str) -> Target:
    metric = METRICS[name]
    return Target(name, column, quantity, metric.label, unit, metric.more_is_better)


PREDICTION_TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        _of_metric("latency", "latency_median_s", "time", "s"),
        _of_metric("throughput", "throughput", "time", "samples/s"),
        _of_metric("memory", "memory_peak_bytes", "memory", "bytes"),
        _of_metric("energy", "energy_per_sample_joules", "energy", "J"),
    )
}
