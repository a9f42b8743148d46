"""Spread and outliers of durations, and how values in a row depend on each other.

Functions take durations in the order of measurement, in any unit, as a sequence or an array.

Rounds that are near in time depend on each other, as a machine's state outlasts one of them: on a
virtual machine, processes that followed each other were alike, and those a minute apart were not
(the study `aa_study`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Series = Sequence[float] | Floats

NORMAL_QUARTILE = 0.6745
"""The third quartile of the standard normal distribution: MAD / 0.6745 estimates its deviation."""
MEAN_DEVIATION_SCALE = 1.253314
"""sqrt(pi / 2): the mean absolute deviation times this estimates a normal's deviation."""
OUTLIER_SCORE = 3.5


def stddev(values: Series) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def variation(values: Series) -> float | None:
    deviation, mean = stddev(values), float(np.mean(values))
    return None if deviation is None or mean == 0 else deviation / mean


def median_deviation(values: Series) -> float:
    return float(np.median(_distances(values)))


def outliers(values: Series) -> int:
    """Count the values with a modified z-score 0.6745 (x - median) / MAD beyond 3.5.

    Iglewicz & Hoaglin, "How to Detect and Handle Outliers" (1993). The MAD is 0 if more than half
    of the values are equal; then the mean absolute deviation from the median takes its place, as
    in IBM's statistics: (x - median) / (1.253314 mean |x - median|). Equal values have no outliers.
    """
    distances = _distances(values)
    scale = float(np.median(distances)) / NORMAL_QUARTILE
    scale = scale or MEAN_DEVIATION_SCALE * float(np.mean(distances))
    return int(np.count_nonzero(distances > OUTLIER_SCORE * scale))


def autocorrelation(values: Series) -> float | None:
    """Correlation of each value with the next one; None with fewer than three or equal values.

    r1 of Box & Jenkins, "Time Series Analysis": the sum of products of neighbours' distances from
    the mean, by the sum of their squares.
    """
    if len(values) < 3:
        return None
    distances = np.asarray(values, dtype=float) - np.mean(values)
    squares = float(distances @ distances)
    return float(distances[1:] @ distances[:-1]) / squares if squares > 0 else None


def effective_count(values: Series) -> float:
    """Independent values that would tell as much about the median: from 1 to as many as given.

    n / tau, where tau = 1 + 2 (r1 + r2 + ...) sums the autocorrelations of the values' ranks up to
    the end of Geyer's initial positive sequence, "Practical Markov Chain Monte Carlo" (1992): the
    first pair r(2k) + r(2k+1) that is not positive. The familiar n (1 - r1) / (1 + r1) holds for
    noise that forgets exponentially; a host's doesn't. Ranks, since one spike hides what r1 has
    to show, and since a median depends on the order alone.
    """
    count = len(values)
    ranked = ranks(values)
    if count < 3 or np.ptp(ranked) == 0:
        return float(count)
    # Autocorrelations at all lags, by the Fourier transform of the padded ranks.
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(ranked - np.mean(ranked), size)
    products = np.fft.irfft(np.abs(spectrum) ** 2, size)[:count]
    correlations = np.asarray(products / products[0], dtype=float)
    pairs = correlations[: count // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    tau = 2 * float(np.sum(pairs[: ends[0]] if ends.size else pairs)) - 1
    return count / min(max(tau, 1.0), count)


def effective_count_of_rounds(values: Series, lengths: Sequence[int]) -> float:
    """The sum over rounds, whose levels are no dependence: intervals over rounds allow for them."""
    parts = np.split(np.asarray(values, dtype=float), np.cumsum(lengths)[:-1])
    return float(sum(effective_count(part) for part in parts))


def ranks(values: Series) -> Floats:
    """The rank of each value, from 1 upwards; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=float)


def _distances(values: Series) -> Floats:
    return np.abs(np.asarray(values, dtype=float) - np.median(values))


SHARED = 0.8
"""Correlation of two processes at the same moment; the rest of what they differ by is their own."""
STATE_S = 30.0
"""Seconds in which that correlation falls to 1 / e of it: the lags of 271 processes one behind the
other had 0.61 at 9 s, 0.31 at 27 s, 0.13 at 63 s."""


@dataclass(frozen=True)
class EffectiveCount:
    """The independent values that values count as which are not."""

    count: float  # their number: the mean's standard error is the sample's deviation by its root
    degrees: float  # degrees of freedom of that deviation, 1 or more


def correlation_of(moments_s: Sequence[float]) -> Floats:
    """The correlation of each two processes, by the moments at which they were measured."""
    moments = np.asarray(moments_s, dtype=float)
    correlation = SHARED * np.exp(-np.abs(np.subtract.outer(moments, moments)) / STATE_S)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation, dtype=float)


def effective_rounds(count: int, moments_s: Sequence[float] | None) -> EffectiveCount:
    """The effective number of two rounds or more that depend on each other as processes do.

    With ρ the mean correlation of two of n medians, their mean has the variance of one times
    (1 + (n - 1) ρ) / n, and the sample's variance is 1 - ρ of it on average. With R all
    correlations and M, which takes off the mean, that has tr(MR)² / tr(MRMR) degrees of freedom
    (Satterthwaite 1946; Box 1954, theorem 3.1). Without moments, in seconds, they are independent.
    """
    if moments_s is None:
        return EffectiveCount(count, count - 1)
    correlation = correlation_of(moments_s)
    mean = (float(correlation.sum()) / count - 1) / (count - 1)
    centred = correlation - correlation.mean(axis=0)
    degrees = float(np.trace(centred)) ** 2 / float(np.sum(centred * centred.T))
    return EffectiveCount(
        count=count * (1 - mean) / (1 + (count - 1) * mean), degrees=max(1.0, round(degrees, 9))
    )
