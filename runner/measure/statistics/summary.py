"""Summary of raw durations as columns of a record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from runner.measure.clock import NANOSECONDS
from runner.measure.statistics import spread
from runner.measure.statistics.percentiles import (
    NEEDED,
    Interval,
    median_interval,
    percentile_columns,
)
from runner.measure.statistics.spread import Floats, Series

SecondsColumns = dict[str, float | None]
"""Columns of a record in seconds, by name."""


@dataclass(frozen=True)
class LatencySummary:
    """Statistics of a cell's steady phase, named like the columns of `Timing` in the record."""

    iterations: int
    steady_time_s: float
    throughput: float | None
    latency_mean_s: float
    latency_median_s: float
    latency_median_low_s: float | None
    latency_median_high_s: float | None
    latency_precision: float | None
    latency_min_s: float
    latency_max_s: float
    latency_stddev_s: float | None
    latency_mad_s: float
    latency_cv: float | None
    latency_p50_s: float | None
    latency_p90_s: float | None
    latency_p90_low_s: float | None
    latency_p90_high_s: float | None
    latency_p95_s: float | None
    latency_p95_low_s: float | None
    latency_p95_high_s: float | None
    latency_p99_s: float | None
    latency_p99_low_s: float | None
    latency_p99_high_s: float | None
    latency_p999_s: float | None
    latency_p999_low_s: float | None
    latency_p999_high_s: float | None
    percentile_iterations_needed: dict[str, int]
    outliers: int
    autocorrelation: float | None
    effective_iterations: float


def summarise(
    durations_ns: Sequence[int], *, samples: int, steady_ns: int, rounds: Sequence[int] = ()
) -> LatencySummary:
    """Summarise at least one duration of iterations that processed `samples` in `steady_ns`.

    Args:
        durations_ns: of all rounds, in order.
        samples: of all iterations.
        steady_ns: the time of all of them.
        rounds: the iterations of each round; those of one if left out.
    """
    durations = np.asarray(durations_ns, dtype=float) / NANOSECONDS
    effective = spread.effective_count_of_rounds(durations, rounds or [len(durations)])
    interval = median_interval(durations, effective)
    return LatencySummary(
        iterations=len(durations),
        steady_time_s=steady_ns / NANOSECONDS,
        throughput=samples * NANOSECONDS / steady_ns if steady_ns else None,
        latency_mean_s=_mean(durations),
        latency_median_s=_median(durations),
        latency_median_low_s=interval.low if interval else None,
        latency_median_high_s=interval.high if interval else None,
        latency_precision=interval.precision if interval else None,
        latency_min_s=float(np.min(durations)),
        latency_max_s=float(np.max(durations)),
        latency_stddev_s=spread.stddev(durations),
        latency_mad_s=spread.median_deviation(durations),
        latency_cv=spread.variation(durations),
        **percentile_columns("latency", durations_ns),
        percentile_iterations_needed=dict(NEEDED),
        outliers=spread.outliers(durations),
        autocorrelation=spread.autocorrelation(durations),
        effective_iterations=effective,
    )


def distribution(prefix: str, durations_ns: Series) -> SecondsColumns:
    statistics = {"mean": _mean, "median": _median, "stddev": spread.stddev}
    return {
        **_columns(prefix, durations_ns, statistics),
        **percentile_columns(prefix, durations_ns),
    }


def interval_columns(prefix: str, interval: Interval | None) -> SecondsColumns:
    """Columns `<prefix>_median_low_s` and `<prefix>_median_high_s` of an interval in nanoseconds.

    None without one.
    """
    return {
        f"{prefix}_median_low_s": interval.low / NANOSECONDS if interval else None,
        f"{prefix}_median_high_s": interval.high / NANOSECONDS if interval else None,
    }


def mean_and_median(prefix: str, durations_ns: Sequence[int]) -> SecondsColumns:
    return _columns(prefix, durations_ns, {"mean": _mean, "median": _median})


def median_columns(prefix: str, durations_ns: Series, interval: Interval | None) -> SecondsColumns:
    return {
        **_columns(prefix, durations_ns, {"median": _median}),
        **interval_columns(prefix, interval),
    }


def _columns(
    prefix: str, durations_ns: Series, statistics: dict[str, Callable[[Floats], float | None]]
) -> SecondsColumns:
    durations = np.asarray(durations_ns, dtype=float) / NANOSECONDS
    return {
        f"{prefix}_{name}_s": statistic(durations) if len(durations) else None
        for name, statistic in statistics.items()
    }


def _mean(durations: Floats) -> float:
    return float(np.mean(durations))


def _median(durations: Floats) -> float:
    return float(np.median(durations))
