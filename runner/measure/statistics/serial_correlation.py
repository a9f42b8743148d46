"""Dependence of rounds that are near in time: a machine's state outlasts one of them.

On a virtual machine whose neighbours come and go, processes that followed each other were alike,
and those a minute apart were not (the study `aa_study`). Taken as independent, a record of one
minute knows the level of that minute, and says that it is the machine's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.measure.statistics.spread import Floats

SHARED = 0.8
"""Correlation of two processes at the same moment; the rest of what they differ by is their own."""
STATE_S = 30.0
"""Seconds in which that correlation falls to 1 / e of it: the lags of 271 processes one behind the
other had 0.61 at 9 s, 0.31 at 27 s, 0.13 at 63 s."""


@dataclass(frozen=True)
class EffectiveCount:
    """The independent values that values count as which are not."""

    count: float
    """Their number: the mean's standard error is the sample's deviation by its root."""
    degrees: float
    """Degrees of freedom of that deviation, 1 or more."""


def correlation_of(moments_s: Sequence[float]) -> Floats:
    """The correlation of each two processes, by the moments at which they were measured."""
    moments = np.asarray(moments_s, dtype=float)
    correlation = SHARED * np.exp(-np.abs(np.subtract.outer(moments, moments)) / STATE_S)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation, dtype=float)


def effective_rounds(count: int, moments_s: Sequence[float] | None) -> EffectiveCount:
    """The effective number of rounds that depend on each other as processes do.

    With ρ the mean correlation of two of n medians, their mean has the variance of one times
    (1 + (n - 1) ρ) / n, and the sample's variance is 1 - ρ of it on average. With R all
    correlations and M, which takes off the mean, that has tr(MR)² / tr(MRMR) degrees of freedom
    (Satterthwaite 1946; Box 1954, theorem 3.1).

    Args:
        count: the number of rounds, two or more.
        moments_s: when each was measured, seconds; None if they are independent.
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
