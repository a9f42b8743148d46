"""Changes over time: between the rounds of a cell, and inside one steady phase.

Effect and test are about the same thing. Between rounds it is the range of their medians, against
what fresh processes and the scatter inside the rounds explain; where the order of the rounds is one
that chance seldom gives, it is a trend. Inside a steady phase it is the largest step between two
parts of it, or the slope that explains the durations better.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from runner.measure.statistics.spread import (
    NORMAL_QUARTILE,
    Floats,
    Series,
    correlation_of,
    effective_count,
    ranks,
)

MEDIAN_ERROR = 1.2533
"""The standard error of a median by that of the mean: sqrt(pi / 2) for normal durations."""
UNSEEN_DEPENDENCE = 90.0
"""Few durations show little of how they depend on each other. A variance from n of them counts
1 + 90 / n times; chosen by simulation for an autocorrelation of 0.9 (the study `drift`)."""
UNKNOWN_BETWEEN = 0.04
"""The deviation that the test takes for processes of a host that nobody calibrated: by 5 % it would
name three rounds at 1.0, 1.3 and 1.0 in fewer than 95 % (the study `drift`)."""
TELLING_ROUNDS = 6  # rounds from which on their scatter tells what processes of this cell differ by
SCATTER_ALLOWANCE = 1.5
"""The deviation that it gives counts so many times, as few rounds may scatter too little."""
EDGE = 0.15  # share of a steady phase that each side of a step has at least
FEWEST = 8  # durations below which no change inside a steady phase is sought
_GRID = 400
Kind = Literal["step", "trend"]


@dataclass(frozen=True)
class Drift:
    """Difference between rounds of the same cell."""

    change: float | None  # range of the round medians by their mean; None if that is 0
    p_value: float  # chance of such a range, or such an order, if only processes differed
    steady: bool = False  # True if the rounds rise or fall in order, and chance excludes the order


@dataclass(frozen=True)
class LevelChange:
    """The largest change inside a steady phase."""

    kind: Kind
    size: float  # median behind it by the median before, minus 1
    p_value: float  # chance of so large a one if the durations kept their level


def drift(
    rounds: Sequence[Sequence[float]], deviation: float, moments_s: Sequence[float] | None = None
) -> Drift | None:
    """Compare the medians of rounds; None with fewer than two.

    The range of R medians, by the deviation that explains them, is a studentized range (Tukey
    1949). That deviation adds up what fresh processes differ by (`deviation`, by their mean) and
    the standard error of the medians. Processes of this cell may differ by more than is known
    beforehand; six rounds or more tell so by their median absolute deviation, to which a hump adds
    little. The order is tested by Mann & Kendall's S (Kendall 1975). Either may find something, so
    the smaller p-value counts twice. Without the moments of the rounds, seconds, they are
    independent.
    """
    if len(rounds) < 2:
        return None
    medians = np.asarray([np.median(durations) for durations in rounds], dtype=float)
    mean = float(np.mean(medians))
    if not mean:
        return Drift(None, 1.0)
    errors = [_squared_error(durations) for durations in rounds]
    between = max(deviation * mean, _scatter(medians))
    scale = math.sqrt(between**2 + float(np.mean(errors)))
    by_range = range_survival(float(np.ptp(medians)) / scale, len(medians)) if scale else 1.0
    by_order = order_p_value(medians, moments_s)
    return Drift(
        change=float(np.ptp(medians)) / mean,
        p_value=min(1.0, 2 * min(by_range, by_order)),
        steady=by_order < by_range,
    )


def _scatter(medians: Floats) -> float:
    """The deviation of normal values with this median absolute deviation; 0 of too few."""
    if len(medians) < TELLING_ROUNDS:
        return 0.0
    deviations = np.abs(medians - np.median(medians))
    return SCATTER_ALLOWANCE * float(np.median(deviations)) / NORMAL_QUARTILE


def range_survival(value: float, count: int) -> float:
    """The chance that the range of so many standard normal variables exceeds the value.

    count x the integral of phi(z) (Phi(z + value) - Phi(z))^(count - 1) is the chance that it does
    not: z is the smallest of them.
    """
    z = np.linspace(-8 - value, 8, 4 * _GRID)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    inside = count * density * (_phi(z + value) - _phi(z)) ** (count - 1)
    return float(min(1.0, max(0.0, 1 - np.trapezoid(inside, z))))


def order_p_value(values: Series, moments_s: Sequence[float] | None = None) -> float:
    """The chance of an order so far from random, both ways, by Mann & Kendall's S.

    S counts pairs that rise less pairs that fall. Rounds that are near in time are alike, so that
    they rise or fall in their order more often than independent ones.
    """
    series = np.asarray(values, dtype=float)
    count = len(series)
    s = sum(float(np.sign(series[k + 1 :] - series[k]).sum()) for k in range(count - 1))
    independent = _independent_chance(s, count)
    return independent if moments_s is None else max(independent, _dependent_chance(s, moments_s))


def _independent_chance(s: float, count: int) -> float:
    """The exact chance of an S so far from 0.

    In all n! orders the number of falling pairs is distributed like inversions: the k-th value
    falls behind 0 to k - 1 of those before it.
    """
    ways = np.ones(1)
    for k in range(2, count + 1):
        ways = np.convolve(ways, np.ones(k) / k)
    pairs = count * (count - 1) // 2
    extreme = np.abs(pairs - 2 * np.arange(pairs + 1)) >= abs(s) - 1e-9
    return float(min(1.0, ways[extreme].sum()))


def _dependent_chance(s: float, moments_s: Sequence[float]) -> float:
    """The chance of an S so far from 0 of normal values whose correlations are known.

    The signs of two differences whose correlation is r have the covariance 2 / pi arcsin(r), so
    that S has the sum of those of all two pairs as its variance (Hamed & Rao 1998). It is taken as
    normal, with Kendall's correction for continuity.
    """
    first, second = np.triu_indices(len(moments_s), k=1)
    correlation = correlation_of(moments_s)
    by_pair = correlation[second] - correlation[first]
    covariance = by_pair[:, second] - by_pair[:, first]
    deviations = np.sqrt(np.diag(covariance))
    r = np.clip(covariance / np.outer(deviations, deviations), -1, 1)
    variance = 2 / math.pi * float(np.arcsin(r).sum())
    return math.erfc(max(0.0, abs(s) - 1) / math.sqrt(2 * variance))


def change_inside(durations: Series) -> LevelChange | None:
    """The largest change of level inside a steady phase; None if it is too short to show one.

    Pettitt, "A Non-parametric Approach to the Change-point Problem" (1979): the split at which the
    ranks on both sides differ most, with p = 2 exp(-6 K^2 / (n^3 + n^2)). He assumes independence;
    as Hamed & Rao (1998) do for Mann & Kendall's test, the variance is raised by what the ranks
    that are left without the change depend on each other.
    """
    values = np.asarray(durations, dtype=float)
    count, edge = len(values), max(2, math.ceil(EDGE * len(values)))
    if count < FEWEST or np.ptp(values) == 0:
        return None
    sums = 2 * np.cumsum(ranks(values))[:-1] - np.arange(1, count) * (count + 1)
    inner = slice(edge - 1, count - edge)
    at = edge - 1 + int(np.argmax(np.abs(sums[inner])))
    before, after = values[: at + 1], values[at + 1 :]
    low, high = float(np.median(before)), float(np.median(after))
    stepped = np.concatenate([before - low, after - high])
    sloped = _without_slope(values)
    kind: Kind = "step" if np.abs(stepped).sum() <= np.abs(sloped).sum() else "trend"
    left = stepped if kind == "step" else sloped
    inflation = count / effective_count(left) * (1 + UNSEEN_DEPENDENCE / count)
    exponent = -6 * float(sums[at]) ** 2 / (count**3 + count**2) / inflation
    p_value = min(1.0, 2 * math.exp(exponent))
    return LevelChange(kind, high / low - 1, p_value) if low else None


def _squared_error(durations: Series) -> float:
    """Squared standard error of the median of durations that may depend on each other."""
    count = len(durations)
    if count < 2:
        return 0.0
    variance = float(np.var(np.asarray(durations, dtype=float), ddof=1))
    allowance = 1 + UNSEEN_DEPENDENCE / count
    return MEDIAN_ERROR**2 * variance / effective_count(durations) * allowance


def _without_slope(values: Floats) -> Floats:
    position = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(position @ (values - np.mean(values))) / float(position @ position)
    level = values - slope * position
    return np.asarray(level - np.median(level), dtype=float)


def _phi(z: Floats) -> Floats:
    """The standard normal distribution function."""
    return np.asarray([0.5 * math.erfc(-value / math.sqrt(2)) for value in z], dtype=float)
