"""Samples that each percentile needs, and the confidence interval of a median."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from runner.contract.confidence import INTERVAL_CONFIDENCE
from runner.measure.statistics.spread import Floats, Series

PERCENTILE_FRACTIONS: Mapping[str, float] = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}
CONFIDENCE = 0.99
"""Confidence with which a percentile must be supported by its samples."""
RESAMPLES = 10_000


@cache
def iterations_needed(percentile: float) -> int:
    """The fewest independent samples that support a percentile, a fraction of 1, at 99 %.

    The early-stopping rule of MLPerf inference for single streams (mlcommons/inference,
    loadgen/early_stopping.cc and results.cc; tolerance 0, one sample discarded): the smallest n
    for which P(Binomial(n, 1 - percentile) <= 1) <= 1 - CONFIDENCE. We take the count alone from
    it: MLPerf then reports a bound above the percentile, we report the percentile with both bounds.
    """
    count = 2
    while _at_most_one(count, 1 - percentile) > 1 - CONFIDENCE:
        count += 1
    return count


def quantile(values: Series, fraction: float) -> float:
    """The quantile with linear interpolation between order statistics.

    Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996).
    """
    return float(np.quantile(np.asarray(values, dtype=float), fraction, method="linear"))


def _at_most_one(count: int, probability: float) -> float:
    none: float = (1 - probability) ** count
    return none + count * probability * (1 - probability) ** (count - 1)


NEEDED = {name: iterations_needed(fraction) for name, fraction in PERCENTILE_FRACTIONS.items()}
"""The fewest samples for each percentile, by name."""


@dataclass(frozen=True)
class Interval:
    """A median and the ends of its confidence interval, in the durations' unit."""

    low: float
    median: float
    high: float

    @property
    def precision(self) -> float | None:
        """Half the width by the median; None if that is 0."""
        return (self.high - self.low) / 2 / self.median if self.median else None


def median_interval(
    durations: Sequence[float] | Floats,
    effective: float,
    seed: int = 0,
    confidence: float = INTERVAL_CONFIDENCE,
) -> Interval | None:
    """Bootstrap interval of the median, by the percentile method (Efron & Tibshirani, 1993).

    Each of 10,000 resamples draws as many durations as are effectively independent, so that
    durations which repeat each other give a wider interval, as the error of a percentile does
    with the effective sample size of Vehtari and others (2021). None with
    fewer durations than `fewest(confidence)`: no interval between two of them is that sure.
    """
    if len(durations) < fewest(confidence):
        return None
    ordered = np.sort(np.asarray(durations, dtype=float))
    medians = _resampled_medians(ordered, max(1, round(effective)), np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(low), float(np.median(ordered)), float(high))


def fewest(confidence: float = INTERVAL_CONFIDENCE) -> int:
    """The fewest durations whose extremes enclose the median with that confidence: 6 at 95 %.

    All n lie on the same side of the true median with probability 2 (1/2)^n, as in the sign test
    (Thompson, 1936).
    """
    return math.ceil(1 - math.log2(1 - confidence))


def _resampled_medians(ordered: Floats, size: int, random: np.random.Generator) -> Floats:
    """Medians of resamples of that size, drawn without the resamples.

    A resample picks indices floor(n U) by uniform U, so its k-th smallest value stands at the k-th
    smallest of `size` uniforms, which is Beta(k, size - k + 1) distributed; the one above it is the
    smallest of the remaining size - k uniforms between there and 1.
    """
    rank = (size + 1) // 2
    below = random.beta(rank, size - rank + 1, RESAMPLES)
    if size % 2:
        return _at(ordered, below)
    above = below + (1 - below) * random.beta(1, size - rank, RESAMPLES)
    return (_at(ordered, below) + _at(ordered, above)) / 2


def _at(ordered: Floats, positions: Floats) -> Floats:
    indices = np.minimum((positions * len(ordered)).astype(int), len(ordered) - 1)
    values: Floats = ordered[indices]
    return values
