"""Verdicts on one comparison, with their reasons and what would decide it.

A comparison side by side may end after looks that are planned beforehand and share the level of the
test (`share_of_look`): the chance of a false alarm at any of them is at most the sum of their
chances, whatever decides where it ends.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
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
_REASONS: Mapping[str, str] = {
    "accepted": "accepted: {because}",
    "baseline_grade_d": "the baseline's has grade D: `orchestrator status {run} --why` tells why",
    "grade_allows": "grade {grade} leaves open what is below {number} %:"
    " `orchestrator status {run} --why` tells why",
    "grade_d": "this result has grade D: `orchestrator status {run} --why` tells why",
    "launches_would_decide": "{number} launches a side would decide",
    "marked": "{marks}, so nothing is claimed",
    "no_value_before": "no value of it before",
    "no_value_now": "no value of it now",
    "noise_unknown": "neither launches nor history, calibration or study tell its noise",
    "other_series": "{differences}",
    "other_verdict": "{then}, now {now}",
    "rounds_would_decide": "{number} rounds would decide",
    "rounds_would_not_decide": "{most} rounds, the most that are made, would not decide at"
    " {threshold} %: a quieter machine may, or `--threshold {enough}%`",
    "runs_apart": "runs of it are {number} % apart: more launches would not decide, measuring them"
    " side by side would",
}
"""Reasons of verdicts in words, by code."""


@dataclass(frozen=True)
class VerdictReason:
    """The reason of a verdict, or what it would take to reach one."""

    code: str
    number: float | None = None
    """Launches, pairs or percent."""
    facts: Mapping[str, str] = field(default_factory=dict)
    lacks: str | None = None
    """The sentence that says what a side does not tell, and names a richer one."""

    @property
    def number_text(self) -> str:
        if self.number is None:
            return ""
        return str(self.number) if isinstance(self.number, int) else f"{self.number:.2g}"

    def words(self, number: str | None = None) -> str:
        """It in words, with this in the number's place if it stands for several reasons."""
        numbered = self.number_text if number is None else number
        text = _REASONS[self.code].format_map({**self.facts, "number": numbered})
        return "; ".join(filter(None, (text, self.lacks)))


@dataclass(frozen=True)
class LevelShift:
    """The difference of two results on the scale of logarithms, with its noise."""

    shift: float
    """The mean of the later launches less that of the earlier ones."""
    launches: tuple[int, int]
    """Before and after."""
    noise: SeriesNoise

    @property
    def spread(self) -> ShiftSpread:
        return self.noise.difference(*self.launches)

    @property
    def p_value(self) -> float:
        spread = self.spread
        if spread.error == 0:  # values that were written down, not measured
            return 0.0 if self.shift else 1.0
        alone = student_p_value(self.shift / spread.error, spread.degrees)
        return min(1.0, alone / self.noise.share(self.launches[0]))

    @property
    def ratio(self) -> Estimate:
        """The later value by the earlier one, with its 95 % interval, whenever measuring ended."""
        margin = self._margin(INTERVAL_CONFIDENCE, *self.launches)
        return Estimate(
            *(math.exp(value) for value in (self.shift, self.shift - margin, self.shift + margin))
        )

    @property
    def exceeds_noise(self) -> bool:
        """True if the noise of the series makes so great a shift in one of a hundred cases."""
        return abs(self.shift) > self._margin(1 - LEVEL, *self.launches)

    def would_decide(self, count: int, threshold: float) -> bool:
        """True if so many launches a side would tell whether so great a shift is a change."""
        limit = math.log1p(threshold)
        within = abs(self.shift) + self._margin(INTERVAL_CONFIDENCE, count, count) < limit
        return within or abs(self.shift) > self._margin(1 - LEVEL, count, count)

    def _margin(self, confidence: float, before: int, after: int) -> float:
        """The distance at a confidence of all looks together, of which this one has its share."""
        spread = self.noise.difference(before, after)
        shared = 1 - (1 - confidence) * self.noise.share(before)
        return student_quantile(shared, spread.degrees) * spread.error


def verdict_on(
    difference: LevelShift, p_value: float, threshold: float, *, more_is_better: bool
) -> RegressionVerdict:
    """The verdict on a difference, with the p-value adjusted for the other comparisons.

    It is no change if its 95 % interval lies within the threshold on both sides (Schuirmann, "A
    comparison of the two one-sided tests procedure and the power approach", Journal of
    Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680). It is a change if it exceeds the
    noise of the series, the evidence is strong, and a change as great as the threshold is within
    its interval or surpassed. Else nothing is shown.
    """
    ratio = difference.ratio
    if ratio.low > 1 / (1 + threshold) and ratio.high < 1 + threshold:
        return "no change"
    if p_value > LEVEL or not difference.exceeds_noise:
        return "inconclusive"
    return "improvement" if (difference.shift > 0) == more_is_better else "regression"


def launches_to_decide(difference: LevelShift, threshold: float) -> int | None:
    """The fewest launches a side that would tell; None if `MOST_LAUNCHES` do not."""
    counts = range(max(difference.launches) + 1, MOST_LAUNCHES + 1)
    return next((count for count in counts if difference.would_decide(count, threshold)), None)


def threshold_to_decide(difference: LevelShift) -> int:
    """The least threshold, whole percent, at which the difference so far is no change."""
    ratio = difference.ratio
    return math.floor(100 * (max(ratio.high, 1 / ratio.low) - 1)) + 1
