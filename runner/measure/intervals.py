"""How precisely durations tell their median."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.measure.dispersion import Floats

CONFIDENCE = 0.95
RESAMPLES = 10_000


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
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Bootstrap interval of the median, by the percentile method (Efron & Tibshirani, 1993).

    Each of 10,000 resamples draws as many durations as are effectively independent, so that
    durations which repeat each other give a wider interval (an m-out-of-n bootstrap). None with
    fewer durations than `fewest(confidence)`: no interval between two of them is that sure.
    """
    if len(durations) < fewest(confidence):
        return None
    ordered = np.sort(np.asarray(durations, dtype=float))
    medians = _resampled_medians(ordered, max(1, round(effective)), np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(low), float(np.median(ordered)), float(high))


def fewest(confidence: float = CONFIDENCE) -> int:
    """The fewest durations whose extremes enclose the median with that confidence: 6 at 95 %.

    All n lie on the same side of the true median with probability 2 (1/2)^n, as in the sign test
    (Thompson, 1936).
    """
    return math.ceil(1 - math.log2(1 - confidence))


def _resampled_medians(ordered: Floats, size: int, random: np.random.Generator) -> Floats:
    """Medians of resamples of that size, drawn without the resamples.

    A resample picks places floor(n U) by uniform U, so its k-th smallest value stands at the k-th
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
    places = np.minimum((positions * len(ordered)).astype(int), len(ordered) - 1)
    found: Floats = ordered[places]
    return found
