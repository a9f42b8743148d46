"""Estimates with their 95 % intervals, ratios of them, and what a grade lets a ratio show."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from runner.contract.record.verdict import Grade

PROMISES: Mapping[Grade, float] = {"A": 0.0, "B": 0.05, "C": 0.20}
"""The least difference that numbers of a grade can show; those of grade D show none."""
DIFFERENCE_FACTOR = 1.6
"""Distance of a ratio's logarithm from 0, by that to the end of its 95 % interval, beyond which it
shows a difference: Student's t of 99 % by that of 95 % for medians of five or six processes. Of two
results of the same software at most one pair in a hundred is said to differ then, and not one in
twenty (`performance rounds`)."""


@dataclass(frozen=True)
class Estimate:
    """A positive value with its 95 % interval."""

    value: float
    low: float
    high: float

    def over(self, other: "Estimate") -> "Estimate":
        """The ratio of this to an independent estimate, with its interval.

        MOVER, the method of variance estimates recovery, on logarithms: with distances
        d = ln value - ln low and e = ln high - ln value of each estimate, the ratio's logarithm
        lies from ln r - sqrt(d1² + e2²) to ln r + sqrt(e1² + d2²). Zou & Donner, "Construction of
        confidence limits about effect measures: a general approach", Statistics in Medicine 27
        (2008), 1693-1702. It keeps intervals that are not symmetric and takes nothing for normal.
        """
        ratio = self.value / other.value
        down = math.hypot(math.log(self.value / self.low), math.log(other.high / other.value))
        up = math.hypot(math.log(self.high / self.value), math.log(other.value / other.low))
        return Estimate(ratio, ratio * math.exp(-down), ratio * math.exp(up))

    @property
    def inverse(self) -> "Estimate":
        return Estimate(1 / self.value, 1 / self.high, 1 / self.low)


def estimate(value: float | None, low: float | None, high: float | None) -> Estimate | None:
    """The estimate of a measured value; None where it has no interval or is not positive."""
    if value is None or low is None or high is None or not 0 < low <= value <= high < math.inf:
        return None
    return Estimate(value, low, high)
