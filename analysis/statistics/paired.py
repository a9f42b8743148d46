"""Ratios of results that were measured side by side, from one value for each round.

A round's value is the median of the ratios of neighbouring bursts: a shared machine changes its
speed from second to second, so they tell more than the ratio of two medians over the whole round.
Between rounds fresh processes differ by something that stays, so a round is the unit of
replication, and interval and test are Student's over rounds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from analysis.statistics.ratios import THRESHOLD, Estimate, RatioOutcome
from runner.contract.confidence import INTERVAL_CONFIDENCE, students_t
from runner.contract.rounds import RoundResult

ALARM_LEVEL = 0.01
"""The chance that a comparison of equals ends with a difference, over all of its looks."""
_SPENDING_POWER = 0.5


def log_ratio(first: RoundResult, second: RoundResult) -> float | None:
    """The logarithm of the second's time of a sample by the first's in the same round.

    None if the clock was too coarse for one of them.
    """
    pairs = zip(first.sample_medians_ns, second.sample_medians_ns, strict=False)
    ratios = [math.log(later / earlier) for earlier, later in pairs if later and earlier]
    return median(ratios) if ratios else None


@dataclass(frozen=True)
class PairedRatio:
    """The ratio of two results, from the logarithms of its rounds."""

    logarithms: tuple[float, ...]
    looks: tuple[int, ...]
    """Numbers of rounds, planned beforehand, after which the comparison might end."""
    within: float | None = None
    """Standard deviation of the bursts' logarithms within a round; None where rounds have one."""

    @property
    def between(self) -> float:
        """Standard deviation of the logarithms between rounds; infinite with a single one."""
        return stdev(self.logarithms) if len(self.logarithms) > 1 else math.inf

    @property
    def error(self) -> float:
        """The standard error of the mean logarithm."""
        return self.between / math.sqrt(len(self.logarithms))

    @property
    def interval(self) -> Estimate:
        """The ratio with its 95 % interval, at whichever look the comparison ended."""
        middle, margin = fmean(self.logarithms), self._margin(INTERVAL_CONFIDENCE)
        return Estimate(*map(math.exp, (middle, middle - margin, middle + margin)))

    @property
    def is_apart(self) -> bool:
        """True if chance makes such a difference of equals less often than `ALARM_LEVEL`."""
        return abs(fmean(self.logarithms)) > self._margin(1 - ALARM_LEVEL)

    def is_equal(self, threshold: float) -> bool:
        """True if the whole interval lies within the threshold on both sides."""
        ends = abs(fmean(self.logarithms)) + self._margin(INTERVAL_CONFIDENCE)
        return ends < math.log1p(threshold)

    @property
    def inverse(self) -> "PairedRatio":
        return replace(self, logarithms=tuple(-value for value in self.logarithms))

    def outcome(self, threshold: float = THRESHOLD, refusal: str | None = None) -> RatioOutcome:
        """The outcome of what is so many times as good; its grade, of absolute times, is not asked.

        `refusal` is the code of what forbids to compare the two at all.
        """
        rounds = len(self.logarithms)
        if refusal:
            return RatioOutcome("undecided", refusal, rounds)
        if self.is_equal(threshold):
            return RatioOutcome("equal", rounds=rounds)
        if self.is_apart:
            return RatioOutcome("better" if fmean(self.logarithms) > 0 else "worse", None, rounds)
        return RatioOutcome("undecided", "few_rounds", rounds)

    def is_decided(self, threshold: float) -> bool:
        return self.is_apart or self.is_equal(threshold)

    def _margin(self, confidence: float) -> float:
        share = share_of_look(len(self.logarithms), self.looks)
        quantile = students_t(max(1, len(self.logarithms) - 1), 1 - (1 - confidence) * share)
        return quantile * self.error


def share_of_look(rounds: int, looks: Sequence[int]) -> float:
    """The share of the error level that a look after so many rounds may spend.

    It is what the spending function, a power of the share of rounds (Kim & DeMets, Biometrika 74
    (1987), 149-154), adds since the look before; a comparison that ends between two looks, as its
    time is spent, spends that of the next one. The shares bound the chance of a false alarm by its
    sum (Bonferroni).
    """
    last = looks[-1]
    reached = min((look for look in looks if look >= rounds), default=last)
    before = max((look for look in looks if look < reached), default=0)
    return float((reached / last) ** _SPENDING_POWER - (before / last) ** _SPENDING_POWER)
