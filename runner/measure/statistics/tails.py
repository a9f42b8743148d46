"""Percentiles that dependent samples support, each with its bounds."""

import math
from dataclasses import dataclass

import numpy as np

from runner.contract.confidence import INTERVAL_CONFIDENCE
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.binomial import binomial
from runner.measure.statistics.percentiles import NEEDED, PERCENTILE_FRACTIONS, quantile
from runner.measure.statistics.spread import Floats, Series, autocorrelation, effective_count, ranks

BOUNDED = tuple(name for name in PERCENTILE_FRACTIONS if name != "p50")
"""Percentiles with bounds; p50 has none, since the median has its interval."""
DEPENDENT_SHARE = 0.7
"""Samples are dependent if fewer than this share of them count as independent."""
SIGNIFICANT_DEVIATIONS = 2.33
"""Deviations of the first autocorrelation from 0 that independent samples exceed once in 100."""
LEAST_EXCURSIONS = 40
"""Separate excursions beyond a percentile that dependent samples must show."""
WIDEST_BOUNDS = 0.10
"""Half the distance of a percentile's bounds, by its value, that dependent samples may have."""


@dataclass(frozen=True)
class Percentile:
    """A percentile of samples and the ends of its 95 % interval, in the samples' unit."""

    low: float
    value: float
    high: float

    @property
    def precision(self) -> float:
        """Half the distance of the bounds, by the value."""
        return (self.high - self.low) / 2 / self.value if self.value else math.inf


def percentile_columns(prefix: str, durations_ns: Series) -> dict[str, float | None]:
    """Columns `<prefix>_p50_s` to `_p999_s` with `_low_s` and `_high_s`, in seconds.

    None where the samples do not support the percentile.
    """
    durations = np.asarray(durations_ns, dtype=float)
    percentiles = supported_percentiles(durations / NANOSECONDS)
    columns: dict[str, float | None] = {}
    for name, percentile in percentiles.items():
        columns[f"{prefix}_{name}_s"] = percentile.value if percentile else None
        if name in BOUNDED:
            columns[f"{prefix}_{name}_low_s"] = percentile.low if percentile else None
            columns[f"{prefix}_{name}_high_s"] = percentile.high if percentile else None
    return columns


def supported_percentiles(values: Floats) -> dict[str, Percentile | None]:
    """The percentiles by name; None where too few samples are independent in that tail.

    What counts is the effective size of the samples for 1(x > q), whether they exceed the
    percentile: a median's says nothing about a tail (Vehtari, Gelman, Simpson, Carpenter and
    Bürkner, "Rank-Normalization, Folding, and Localization", 2021). It must be as large as MLPerf
    asks of independent samples.

    An estimate from a few long excursions is itself uncertain, and too large when the longest ones
    have not happened yet. So where samples depend on each other, as latencies in a queue do, two
    more things are asked: 40 excursions with a visit below the median between any two (the runs
    estimator of clusters: Smith and Weissman, "Estimating the Extremal Index", 1994), and bounds
    within 10 % of the value.
    """
    ordered = np.sort(values)
    enough = [name for name, needed in NEEDED.items() if len(values) >= needed]
    dependent = bool(enough) and are_dependent(values)
    return {
        name: _supported(values, ordered, name, dependent) if name in enough else None
        for name in PERCENTILE_FRACTIONS
    }


def are_dependent(values: Floats) -> bool:
    """True if the ranks' first autocorrelation is not chance and leaves few independent samples.

    Of n independent samples it has a deviation of 1 / sqrt(n) (Bartlett, 1946).
    """
    first = autocorrelation(ranks(values))
    if first is None or first * math.sqrt(len(values)) <= SIGNIFICANT_DEVIATIONS:
        return False
    return effective_count(values) < DEPENDENT_SHARE * len(values)


def _supported(values: Floats, ordered: Floats, name: str, dependent: bool) -> Percentile | None:
    fraction = PERCENTILE_FRACTIONS[name]
    value = quantile(ordered, fraction)
    effective = effective_count((values > value).astype(float))
    if effective < NEEDED[name]:
        return None
    low, high = percentile_bounds(ordered, fraction, effective)
    percentile = Percentile(min(low, value), value, max(value, high))
    if dependent:
        few = excursions(values, value) < LEAST_EXCURSIONS
        if few or percentile.precision > WIDEST_BOUNDS:
            return None
    return percentile


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
