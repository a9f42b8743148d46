"""Verdicts on one comparison: what a difference, its noise and its evidence amount to."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from analysis.regress.noise import SeriesNoise
from analysis.statistics.ratios import Estimate
from analysis.statistics.significance import LEVEL, student_p_value, student_quantile
from analysis.statistics.variance import ShiftSpread
from runner.contract.confidence import INTERVAL_CONFIDENCE

RegressionVerdict: TypeAlias = Literal[
    "regression", "improvement", "no change", "inconclusive", "not comparable"
]
MOST_LAUNCHES = 200
"""Launches a side beyond which nobody is sent to measure."""


@dataclass(frozen=True)
class LevelShift:
    """The difference of two results on the scale of logarithms, with its noise."""

    shift: float
    """The mean of the later launches less that of the earlier ones."""
    launches: tuple[int, int]
    """Launches before and after."""
    noise: SeriesNoise

    @property
    def spread(self) -> ShiftSpread:
        """The standard error of the shift."""
        return self.noise.difference(*self.launches)

    @property
    def p_value(self) -> float:
        """The chance of so great a shift if nothing but noise made it."""
        spread = self.spread
        if spread.error == 0:  # values that were written down, not measured
            return 0.0 if self.shift else 1.0
        alone = student_p_value(self.shift / spread.error, spread.degrees)
        return min(1.0, self.noise.looks * alone)

    @property
    def ratio(self) -> Estimate:
        """The later value by the earlier one, with its 95 % interval, whenever measuring ended."""
        margin = _margin(self.spread, _shared(INTERVAL_CONFIDENCE, self.noise))
        return Estimate(
            *(math.exp(value) for value in (self.shift, self.shift - margin, self.shift + margin))
        )

    @property
    def exceeds_noise(self) -> bool:
        """True if the noise of the series makes so great a shift in one of a hundred cases."""
        return abs(self.shift) > _margin(self.spread, _shared(1 - LEVEL, self.noise))


def verdict_on(
    difference: LevelShift, p_value: float, threshold: float, *, more_is_better: bool
) -> RegressionVerdict:
    """The verdict on a difference.

    It is no change if its 95 % interval lies within the threshold on both sides (Schuirmann, "A
    comparison of the two one-sided tests procedure and the power approach", Journal of
    Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680). It is a change if it exceeds the
    noise of the series, the evidence is strong, and a change as great as the threshold is within
    its interval or surpassed. Else nothing is shown.

    Args:
        difference: the difference and its noise.
        p_value: of the test on launches, adjusted for the other comparisons.
        threshold: the least relative change that matters, e.g. 0.05.
        more_is_better: True for throughput and the like.
    """
    if _is_within(difference.ratio, threshold):
        return "no change"
    if p_value > LEVEL or not difference.exceeds_noise:
        return "inconclusive"
    return "improvement" if (difference.shift > 0) == more_is_better else "regression"


def launches_to_decide(difference: LevelShift, threshold: float) -> int | None:
    """The fewest launches a side that would tell whether so great a difference is one.

    None if `MOST_LAUNCHES` would not: then runs differ too much, however many launches they have.
    """
    most = max(difference.launches) + 1
    return next(
        (
            count
            for count in range(most, MOST_LAUNCHES + 1)
            if _would_decide(difference, count, threshold)
        ),
        None,
    )


def _would_decide(difference: LevelShift, count: int, threshold: float) -> bool:
    spread = difference.noise.difference(count, count)
    shift, limit = abs(difference.shift), math.log1p(threshold)
    shown, within = (
        _margin(spread, _shared(confidence, difference.noise))
        for confidence in (1 - LEVEL, INTERVAL_CONFIDENCE)
    )
    return shift > shown or shift + within < limit


def _is_within(ratio: Estimate, threshold: float) -> bool:
    return ratio.low > 1 / (1 + threshold) and ratio.high < 1 + threshold


def _shared(confidence: float, noise: SeriesNoise) -> float:
    """The confidence that each look needs for that of all together (Bonferroni)."""
    return 1 - (1 - confidence) / noise.looks


def _margin(spread: ShiftSpread, confidence: float) -> float:
    return student_quantile(confidence, spread.degrees) * spread.error
