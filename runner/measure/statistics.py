"""Numbers about raw durations, and how many durations such a number needs."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from runner.measure.clock import NANOSECONDS

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Summary:
    """The steady phase of one cell in numbers; times in seconds per query."""

    iterations: int
    steady_time_s: float
    latency_mean_s: float
    latency_median_s: float
    latency_min_s: float
    latency_max_s: float
    latency_stddev_s: float | None
    latency_p90_s: float | None
    latency_p90_iterations_needed: int
    throughput: float


def summarise(durations_ns: Sequence[int], batch_size: int) -> Summary:
    """Summarise at least one raw duration of queries that carry `batch_size` samples each."""
    count, total = len(durations_ns), sum(durations_ns)
    return Summary(
        iterations=count,
        steady_time_s=total / NANOSECONDS,
        latency_mean_s=total / count / NANOSECONDS,
        latency_median_s=statistics.median(durations_ns) / NANOSECONDS,
        latency_min_s=min(durations_ns) / NANOSECONDS,
        latency_max_s=max(durations_ns) / NANOSECONDS,
        latency_stddev_s=statistics.stdev(durations_ns) / NANOSECONDS if count > 1 else None,
        latency_p90_s=supported_percentile_s(durations_ns, 0.90),
        latency_p90_iterations_needed=iterations_needed(0.90),
        throughput=batch_size * count * NANOSECONDS / total,
    )


def supported_percentile_s(durations_ns: Sequence[int], percentile: float) -> float | None:
    """The percentile in seconds, or None where there are too few durations to support it."""
    if len(durations_ns) < iterations_needed(percentile):
        return None
    return quantile(durations_ns, percentile) / NANOSECONDS


def quantile(values: Sequence[float], fraction: float) -> float:
    """The quantile with linear interpolation between order statistics.

    Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996),
    which numpy also uses.
    """
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


@cache
def iterations_needed(percentile: float) -> int:
    """The fewest samples that support a percentile at 99 % confidence.

    MLPerf inference's early-stopping rule with one sample above the percentile discarded: the
    smallest n for which P(Binomial(n, 1 - percentile) <= 1) <= 1 - CONFIDENCE.
    """
    count = 2
    while _at_most_one(count, 1 - percentile) > 1 - CONFIDENCE:
        count += 1
    return count


def _at_most_one(count: int, probability: float) -> float:
    none: float = (1 - probability) ** count
    return none + count * probability * (1 - probability) ** (count - 1)
