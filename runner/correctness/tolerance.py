"""Tolerances from honest arithmetic: three times what a precision's own rounding differs by.

A reference holds, beside the fp32 outputs, how much the same model differs when torch computes it
on the CPU in each other precision. Another implementation rounds in other places, so it is allowed
three times as much. Where nothing was computed, since the model is large or torch has no such
arithmetic, the worst of the catalogue stands in: `python -m performance honest_arithmetic` prints
it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from runner.contract.cell import Precision


class Difference(NamedTuple):
    """Differences from the reference, each by the reference's own size."""

    relative: float
    """Of all values of an output together."""
    row: float
    """Of the worst row, the features of one position."""
    mean: float
    """Of the mean over a sample's rows: what is wrong everywhere in the same direction."""


MARGIN = 3.0
"""Times that honest arithmetic may differ by more in another implementation."""

FLOORS: Mapping[Precision, Difference] = {
    "fp32": Difference(1e-5, 3e-5, 1e-5),
    "fp16": Difference(1e-3, 2e-3, 5e-4),
    "bf16": Difference(8e-3, 16e-3, 4e-3),
    "int8": Difference(16e-3, 32e-3, 8e-3),
}
"""The least that is allowed: two units in the last place of 11 and 8 bits, two steps of 1/127; half
of it in the mean, twice of it at the worst position. In fp32 the order of sums and the functions
that runtimes approximate differ by up to a third of it."""

HONEST: Mapping[Precision, Difference] = {
    "fp32": Difference(0.0, 0.0, 0.0),
    "fp16": Difference(0.003, 0.006, 0.002),
    "bf16": Difference(0.02, 0.04, 0.015),
    "int8": Difference(0.08, 0.15, 0.03),
}
"""The worst of the catalogue, for models whose reference holds nothing for a precision."""


def tolerance_of(precision: Precision, honest: Difference | None) -> Difference:
    """The differences that are allowed."""
    own = HONEST[precision] if honest is None else honest
    pairs = zip(FLOORS[precision], own, strict=True)
    return Difference(*(max(floor, MARGIN * difference) for floor, difference in pairs))
