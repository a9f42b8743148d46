"""Percentiles, and how many durations each one needs."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from runner.measure.clock import NANOSECONDS
from runner.measure.dispersion import Values

PERCENTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
CONFIDENCE = 0.99


@cache
def iterations_needed(percentile: float) -> int:
    """The fewest samples that support a percentile, a fraction of 1, at 99 % confidence.

    The early-stopping rule of MLPerf inference for single streams (mlcommons/inference,
    loadgen/early_stopping.cc and results.cc; tolerance 0, one sample discarded): the smallest n
    for which P(Binomial(n, 1 - percentile) <= 1) <= 1 - CONFIDENCE. We take the count alone from
    it: MLPerf then reports a bound above the percentile, we report the percentile of the samples.
    """
    count = 2
    while _at_most_one(count, 1 - percentile) > 1 - CONFIDENCE:
        count += 1
    return count


def quantile(values: Values, fraction: float) -> float:
    """The quantile with linear interpolation between order statistics.

    Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996).
    """
    return float(np.quantile(np.asarray(values, dtype=float), fraction, method="linear"))


def percentiles_s(durations_ns: Sequence[int]) -> dict[str, float | None]:
    """The percentiles in seconds, by name; None where too few durations support one."""
    supported = [name for name, needed in NEEDED.items() if len(durations_ns) >= needed]
    ordered = np.sort(np.asarray(durations_ns, dtype=float))
    found = {name: quantile(ordered, PERCENTILES[name]) for name in supported}
    return {name: found[name] / NANOSECONDS if name in found else None for name in PERCENTILES}


def _at_most_one(count: int, probability: float) -> float:
    none: float = (1 - probability) ** count
    return none + count * probability * (1 - probability) ** (count - 1)


NEEDED = {name: iterations_needed(fraction) for name, fraction in PERCENTILES.items()}
"""The fewest samples for each percentile, by name."""
