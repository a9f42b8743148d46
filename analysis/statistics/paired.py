"""Ratios of results that were measured side by side, from one value for each round.

A round's value is the median of the ratios of neighbouring bursts: a shared machine changes its
speed from second to second, so they tell more than the ratio of two medians over the whole round.
Between rounds fresh processes differ by something that stays, so a round is the unit of
replication, and interval and test are Student's over rounds.

Three rounds tell badly what rounds differ by. What bursts scatter by within a round, and what fresh
launches are known to differ by, let expect it, and the variance is drawn towards that: the estimate
of Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), 3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import NamedTuple, Self

from analysis.statistics.ratios import THRESHOLD, Estimate, RatioOutcome
from runner.contract.confidence import INTERVAL_CONFIDENCE, students_t

ALARM_LEVEL = 0.01
"""The chance that a comparison of equals ends with a difference, over all of its looks."""
_SPENDING_POWER = 0.5
LAUNCHES_APART = 0.03
"""Standard deviation of the ratio of fresh launches of two models, whatever their bursts do: the
most that series of equal and nearly equal ones showed (docs/side-by-side.md)."""
EXPECTED_DEGREES = 4
"""The degrees of freedom that the expected variance of a round counts for."""


class RoundRatio(NamedTuple):
    """The ratio of two results in one round."""

    logarithm: float
    bursts: int
    """Neighbouring bursts."""
    spread: float | None
    """Standard deviation of their logarithms; None with one."""


def round_ratio(first: Sequence[float], second: Sequence[float]) -> RoundRatio | None:
    """The second's time by the first's, from the medians of neighbouring bursts.

    A burst without a neighbour does not count. None if the clock was too coarse for all of them.
    """
    pairs = zip(first, second, strict=False)
    ratios = [math.log(later / earlier) for earlier, later in pairs if later and earlier]
    if not ratios:
        return None
    spread = stdev(ratios) if len(ratios) > 1 else None
    return RoundRatio(median(ratios), len(ratios), spread)


@dataclass(frozen=True)
class PairedRatio:
    """The ratio of two results, from the logarithms of its rounds."""

    logarithms: tuple[float, ...]
    looks: tuple[int, ...]
    """Numbers of rounds, planned beforehand, after which the comparison might end."""
    within: float | None = None
    """Standard deviation of the bursts' logarithms within a round; None where rounds have one."""
    bursts: int = 1
    """Neighbouring bursts of the round that has fewest."""

    @classmethod
    def of(cls, rounds: Sequence[RoundRatio], looks: Sequence[int]) -> Self:
        """The ratio over these rounds, one at least."""
        spreads = [one.spread for one in rounds if one.spread is not None]
        within = math.sqrt(fmean(spread**2 for spread in spreads)) if spreads else None
        logarithms = tuple(one.logarithm for one in rounds)
        return cls(logarithms, tuple(looks), within, min(one.bursts for one in rounds))

    @property
    def between(self) -> float:
        """Standard deviation of the logarithms between rounds; infinite with a single one."""
        return stdev(self.logarithms) if len(self.logarithms) > 1 else math.inf

    @property
    def deviation(self) -> float:
        """Standard deviation of a round's logarithm, drawn towards the one that is expected.

        A median of normal values has pi / 2 times the variance of their mean.
        """
        rounds = len(self.logarithms)
        if self.within is None or rounds == 1:
            return self.between
        expected = LAUNCHES_APART**2 + math.pi / 2 * self.within**2 / self.bursts
        seen = (rounds - 1) * self.between**2
        return math.sqrt((EXPECTED_DEGREES * expected + seen) / self.degrees)

    @property
    def degrees(self) -> int:
        """Degrees of freedom of that deviation, at least one."""
        own = len(self.logarithms) - 1
        return max(1, own if self.within is None else own + EXPECTED_DEGREES)

    @property
    def error(self) -> float:
        """The standard error of the mean logarithm."""
        return self.deviation / math.sqrt(len(self.logarithms))

    @property
    def interval(self) -> Estimate:
        """The ratio with its 95 % interval, at whichever look the comparison ended."""
        middle, margin = fmean(self.logarithms), self._margin(INTERVAL_CONFIDENCE)
        return Estimate(*map(math.exp, (middle, middle - margin, middle + margin)))

    @property
    def is_apart(self) -> bool:
        """True if chance makes such a difference of equals less often than `ALARM_LEVEL`."""
        return self._is_apart(ALARM_LEVEL)

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

    def is_decided(self, threshold: float, among: int = 1) -> bool:
        """True if a comparison may end with this ratio, being one of so many that are judged.

        A difference must last when it is judged among the others, so each has its part of the level
        (Bonferroni); equality needs no more than its interval.
        """
        return self._is_apart(ALARM_LEVEL / among) or self.is_equal(threshold)

    def _is_apart(self, level: float) -> bool:
        return abs(fmean(self.logarithms)) > self._margin(1 - level)

    def _margin(self, confidence: float) -> float:
        share = share_of_look(len(self.logarithms), self.looks)
        quantile = students_t(self.degrees, 1 - (1 - confidence) * share)
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
