"""Units of predicted numbers as people read them."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.predict.examples.targets import Target
from analysis.statistics.numbers import amount


@dataclass(frozen=True)
class ShownUnit:
    """A unit in which people read a number."""

    name: str
    factor: float
    """A number in it by the same in the base unit."""


_UNITS: Mapping[str, ShownUnit] = {
    "s": ShownUnit("ms", 1e3),
    "samples/s": ShownUnit("samples/s", 1.0),
    "bytes": ShownUnit("MB", 1e-6),
    "J": ShownUnit("J", 1.0),
}
"""By the base unit of a target."""


def shown_unit(target: Target) -> ShownUnit:
    """The unit in which people read a target."""
    return _UNITS[target.unit]


def shown_heading(target: Target) -> str:
    """A target with its unit, e.g. `median latency, ms`."""
    return f"{target.label}, {shown_unit(target).name}"


def shown_value(value: float, target: Target) -> float:
    """A number of a target, in base units, in the unit that people read."""
    return value * shown_unit(target).factor


def shown_amount(value: float, target: Target) -> str:
    """The same with its unit, e.g. `12.3 ms`."""
    return f"{amount(shown_value(value, target))} {shown_unit(target).name}"
