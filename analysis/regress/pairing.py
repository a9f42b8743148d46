"""Pairs of launches that take turns: their order, and how many of them a comparison takes.

A comparison may end after each of `LOOKS`. At most three looks share the level of the test by
Bonferroni's inequality, whatever decides where it ends: the chance of a false alarm at any of them
is at most the sum of their chances (Pocock, "Group sequential methods in the design and analysis of
clinical trials", Biometrika 64 (1977), 191-199, has the boundaries that this bounds from above).
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from analysis.regress.noise import LOOKS, noise_of_pairs
from analysis.regress.verdicts import LevelShift, RegressionVerdict, verdict_on
from analysis.statistics.significance import LaunchSamples, permutation_p_values, student_quantile

_FORESEEN = 0.95
"""The confidence of the interval in which the next pair is foreseen."""


def looks_from(fewest: int) -> tuple[int, ...]:
    """The numbers of pairs after which a comparison may end that takes at least so many.

    All are even, so that each side comes first as often as the other.
    """
    least = max(LOOKS[0], fewest + fewest % 2)
    return (least, *(look for look in LOOKS if look > least))


def is_baseline_first(pair: int) -> bool:
    """True if the baseline's launch is the first of the pair of this number, from 1.

    Run, baseline, baseline, run and so on: what drifts evenly adds to both sides alike in every two
    pairs, and the last launch of an even number of pairs is the run's.
    """
    return pair % 2 == 0


def pairs_to_take(
    before: Sequence[float], after: Sequence[float], looks: Sequence[int], threshold: float
) -> int:
    """The number of pairs after which a comparison ends, by the pairs that it has so far.

    The last launch of each side makes its record, so a pair must be known as the last one before
    it is measured: the comparison ends with it if there is a verdict, and the same one at both ends
    of the interval in which the difference of that pair will lie, with 95 % confidence.

    Args:
        before: the logarithms of the baseline's launches.
        after: those of the run's, as many.
        looks: the numbers of pairs after which it may end, from `looks_from`.
        threshold: the least relative change that matters.
    """
    taken = len(before)
    for look in looks[:-1]:
        if look > taken + 1 or (look == taken + 1 and _is_decided(before, after, threshold)):
            return look
    return looks[-1]


def verdict_on_pairs(
    before: Sequence[float], after: Sequence[float], threshold: float
) -> RegressionVerdict:
    """The verdict on two times by their pairs alone, of which there are at least two.

    Args:
        before: the logarithms of the baseline's launches.
        after: those of the run's, as many.
        threshold: the least relative change that matters.
    """
    noise = noise_of_pairs(before, after)
    samples = LaunchSamples(tuple(before), tuple(after), paired=True, looks=noise.looks)
    (p_value,) = permutation_p_values([samples])
    difference = LevelShift(fmean(after) - fmean(before), (len(before), len(after)), noise)
    return verdict_on(difference, p_value, threshold, more_is_better=False)


def _is_decided(before: Sequence[float], after: Sequence[float], threshold: float) -> bool:
    """True if one more pair, as far as those so far tell, leaves one verdict."""
    differences = [later - earlier for earlier, later in zip(before, after, strict=True)]
    if len(differences) < 2:
        return False
    middle, count = fmean(differences), len(differences)
    reach = student_quantile(_FORESEEN, count - 1) * stdev(differences) * math.sqrt(1 + 1 / count)
    verdicts = {
        verdict_on_pairs([*before, 0.0], [*after, extreme], threshold)
        for extreme in (middle - reach, middle + reach)
    }
    return len(verdicts) == 1 and verdicts != {"inconclusive"}
