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


def estimate(value: float | None, low: float | None, high: float | None) -> Estimate | None:
    """The estimate of a measured value; None where it has no interval or is not positive."""
    if value is None or low is None or high is None or not 0 < low <= value <= high < math.inf:
        return None
    return Estimate(value, low, high)


def shows_difference(ratio: Estimate, grade: Grade) -> bool:
    """True if a ratio differs from 1 by more than its interval and the worse grade leave open.

    The interval's end must be so far from 1 that chance goes there in one of a hundred cases.
    """
    promise = PROMISES.get(grade)
    if promise is None:
        return False
    nearer_end = ratio.low if ratio.value > 1 else ratio.high
    margin = abs(math.log(ratio.value / nearer_end))
    is_sure = abs(math.log(ratio.value)) > DIFFERENCE_FACTOR * margin
    return is_sure and max(ratio.value, 1 / ratio.value) > 1 + promise
