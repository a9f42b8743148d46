"""Percentiles that dependent samples support, with their bounds; the interval of a median."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from runner.contract.confidence import INTERVAL_CONFIDENCE
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.spread import Floats, Series, autocorrelation, effective_count, ranks

PERCENTILE_FRACTIONS: Mapping[str, float] = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}
CONFIDENCE = 0.99  # confidence with which a percentile must be supported by its samples
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
    while percentile**count + count * (1 - percentile) * percentile ** (count - 1) > 1 - CONFIDENCE:
        count += 1
    return count


NEEDED = {name: iterations_needed(fraction) for name, fraction in PERCENTILE_FRACTIONS.items()}
"""The fewest samples for each percentile, by name."""


def quantile(values: Series, fraction: float) -> float:
    """Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996): linear."""
    return float(np.quantile(np.asarray(values, dtype=float), fraction, method="linear"))


@dataclass(frozen=True)
class Interval:
    """A median or percentile and the ends of its confidence interval, in the durations' unit."""

    low: float
    value: float
    high: float

    @property
    def precision(self) -> float | None:
        """Half the width by the value; None if that is 0."""
        return (self.high - self.low) / 2 / self.value if self.value else None


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
    """The fewest durations whose extremes enclose the median so surely: 6 at 95 %, by 2 (1/2)^n."""
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


_WINDOW_DEVIATIONS = 12
"""Beyond so many deviations from its mean a binomial's probabilities are zero in floats."""


def chance_of_at_most(successes: int, count: int, probability: float) -> float:
    first, at_most = binomial(count, probability)
    position = successes - first
    return 0.0 if position < 0 else float(at_most[min(position, len(at_most) - 1)])


def binomial(count: int, probability: float) -> tuple[int, Floats]:
    """A number of successes, and the chances of at most so many, one more, and so on."""
    mean, deviation = count * probability, math.sqrt(count * probability * (1 - probability))
    reach = _WINDOW_DEVIATIONS * (deviation + 1)
    first, last = max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach))
    successes = np.arange(first, last)
    odds = probability / (1 - probability)
    steps = np.log((count - successes) / (successes + 1) * odds)
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logarithms - np.max(logarithms))
    at_most: Floats = np.cumsum(chances) / np.sum(chances)
    return first, at_most


BOUNDED = tuple(name for name in PERCENTILE_FRACTIONS if name != "p50")
"""Percentiles with bounds; p50 has none, since the median has its interval."""
DEPENDENT_SHARE = 0.7  # samples are dependent if fewer than this share of them count as independent
SIGNIFICANT_DEVIATIONS = 2.33
"""Deviations of the first autocorrelation from 0 that independent samples exceed once in 100."""
LEAST_EXCURSIONS = 40  # separate excursions beyond a percentile that dependent samples must show
WIDEST_BOUNDS = 0.10
"""Half the distance of a percentile's bounds, by its value, that dependent samples may have."""


def percentile_columns(prefix: str, durations_ns: Series) -> dict[str, float | None]:
    """Columns `<prefix>_p50_s` to `_p999_s` with bounds, seconds; None where not supported."""
    percentiles = supported_percentiles(np.asarray(durations_ns, dtype=float) / NANOSECONDS)
    columns: dict[str, float | None] = {}
    for name, percentile in percentiles.items():
        columns[f"{prefix}_{name}_s"] = percentile.value if percentile else None
        if name in BOUNDED:
            columns[f"{prefix}_{name}_low_s"] = percentile.low if percentile else None
            columns[f"{prefix}_{name}_high_s"] = percentile.high if percentile else None
    return columns


def supported_percentiles(values: Floats) -> dict[str, Interval | None]:
    """The percentiles by name; None where too few samples are independent in that tail.

    What counts is the effective size of the samples for 1(x > q), whether they exceed the
    percentile: a median's says nothing about a tail (Vehtari, Gelman, Simpson, Carpenter and
    Bürkner, "Rank-Normalization, Folding, and Localization", 2021). It must be as large as MLPerf
    asks of independent samples. Where samples depend on each other, as latencies in a queue do, an
    estimate from a few long excursions is itself uncertain. So there must also be 40 of them with a
    visit below the median between any two (the runs estimator of clusters: Smith and Weissman,
    "Estimating the Extremal Index", 1994), and bounds within 10 % of the value.
    """
    ordered = np.sort(values)
    enough = [name for name, needed in NEEDED.items() if len(values) >= needed]
    dependent = bool(enough) and are_dependent(values)
    return {
        name: _supported(values, ordered, name, dependent) if name in enough else None
        for name in PERCENTILE_FRACTIONS
    }


def are_dependent(values: Floats) -> bool:
    """True if the ranks' first autocorrelation is beyond chance, 1 / sqrt(n) (Bartlett, 1946)."""
    first = autocorrelation(ranks(values))
    if first is None or first * math.sqrt(len(values)) <= SIGNIFICANT_DEVIATIONS:
        return False
    return effective_count(values) < DEPENDENT_SHARE * len(values)


def _supported(values: Floats, ordered: Floats, name: str, dependent: bool) -> Interval | None:
    fraction = PERCENTILE_FRACTIONS[name]
    value = quantile(ordered, fraction)
    effective = effective_count((values > value).astype(float))
    if effective < NEEDED[name]:
        return None
    low, high = percentile_bounds(ordered, fraction, effective)
    interval = Interval(min(low, value), value, max(value, high))
    is_wide = interval.precision is None or interval.precision > WIDEST_BOUNDS
    if dependent and (is_wide or excursions(values, value) < LEAST_EXCURSIONS):
        return None
    return interval


def percentile_bounds(
    ordered: Floats, fraction: float, effective: float, confidence: float = INTERVAL_CONFIDENCE
) -> tuple[float, float]:
    """The order statistics that enclose a percentile with at least that confidence.

    Of m independent samples Binomial(m, fraction) lie below the percentile, whatever their
    distribution (Hahn and Meeker, "Statistical Intervals", 1991). Of n samples of which m count as
    independent, the ranks are stretched by n / m. Where m are too few, the extremes stand in.
    """
    count, size = max(1, math.floor(effective)), len(ordered)
    first, at_most = binomial(count, fraction)
    tail = (1 - confidence) / 2
    low = first + int(np.searchsorted(at_most, tail, side="right"))
    high = first + int(np.searchsorted(at_most, 1 - tail, side="left")) + 1
    below = low * size // count - 1
    above = -(-high * size // count) - 1
    return float(ordered[max(0, below)]), float(ordered[min(size - 1, above)])


def excursions(values: Floats, threshold: float) -> int:
    """Count the times that values rise from the median or below it to beyond the threshold."""
    median = np.median(values)
    beyond = values > threshold
    decided = beyond | (values <= median)
    states = beyond[decided]
    return int(np.count_nonzero(states[1:] & ~states[:-1])) + int(states[:1].sum())
