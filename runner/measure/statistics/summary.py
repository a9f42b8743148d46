"""Summary of raw durations as columns of a record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    outliers: int
    autocorrelation: float | None
    effective_iterations: float
    percentiles: Mapping[str, float | None]  # columns of the percentiles and their bounds

    @property
    def columns(self) -> dict[str, Any]:
        own = {**vars(self), **self.percentiles, "percentile_iterations_needed": dict(NEEDED)}
        del own["percentiles"]
        return own


def summarise(
    durations_ns: Sequence[int], *, samples: int, steady_ns: int, rounds: Sequence[int] = ()
) -> LatencySummary:
    """Summarise at least one duration; `rounds` has the iterations of each round, in order."""
    durations = np.asarray(durations_ns, dtype=float) / NANOSECONDS
    effective = spread.effective_count_of_rounds(durations, rounds or [len(durations)])
    interval = median_interval(durations, effective)
    return LatencySummary(
        iterations=len(durations),
        steady_time_s=steady_ns / NANOSECONDS,
        throughput=samples * NANOSECONDS / steady_ns if steady_ns else None,
        latency_mean_s=float(np.mean(durations)),
        latency_median_s=float(np.median(durations)),
        latency_median_low_s=interval.low if interval else None,
        latency_median_high_s=interval.high if interval else None,
        latency_precision=interval.precision if interval else None,
        latency_min_s=float(np.min(durations)),
        latency_max_s=float(np.max(durations)),
        latency_stddev_s=spread.stddev(durations),
        latency_mad_s=spread.median_deviation(durations),
        latency_cv=spread.variation(durations),
        outliers=spread.outliers(durations),
        autocorrelation=spread.autocorrelation(durations),
        effective_iterations=effective,
        percentiles=percentile_columns("latency", durations_ns),
    )


_STATISTICS: Mapping[str, Callable[[Floats], float | None]] = {
    "mean": lambda durations: float(np.mean(durations)),
    "median": lambda durations: float(np.median(durations)),
    "stddev": spread.stddev,
}


def statistic_columns(prefix: str, durations_ns: Series, *names: str) -> SecondsColumns:
    """Columns `<prefix>_mean_s`, `_median_s` and `_stddev_s` by name; None without durations."""
    durations = np.asarray(durations_ns, dtype=float) / NANOSECONDS
    return {
        f"{prefix}_{name}_s": _STATISTICS[name](durations) if len(durations) else None
        for name in names
    }


def interval_columns(prefix: str, interval: Interval | None) -> SecondsColumns:
    """Columns `<prefix>_median_low_s` and `_high_s` of an interval in nanoseconds, None without."""
    return {
        f"{prefix}_median_low_s": interval.low / NANOSECONDS if interval else None,
        f"{prefix}_median_high_s": interval.high / NANOSECONDS if interval else None,
    }
