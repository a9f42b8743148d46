"""Coverage of a ratio's interval by two methods, on simulated launches of two equal cells.

Each launch has a level of its own, lognormal, and its iterations scatter around it. One method is
Student's t over the medians of each side's launches, and MOVER for their ratio, as `compare` does;
with one launch a side the spread of processes, as a calibration found it, widens each. The other is
the hierarchical bootstrap: it draws launches with replacement, then durations within each, and
takes percentiles of the ratio of mean medians. An interval should hold the true ratio, 1, in 95 %
of comparisons.
"""

import json
import math
import sys
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.ratios import Estimate
from performance.simulated import chance
from runner.contract.confidence import INTERVAL_CONFIDENCE
from runner.measure.statistics.percentiles import Interval, median_interval
from runner.measure.statistics.replication import round_interval, widened

LAUNCHES = (1, 3, 5, 10)
BETWEEN = (0.01, 0.04)
WITHIN = 0.05
ITERATIONS = 20
REPETITIONS, RESAMPLES = 400, 300
LEAST = 0.93
"""Share of intervals of our method that must hold the ratio."""
_QUANTILE = NormalDist().inv_cdf((1 + INTERVAL_CONFIDENCE) / 2)
_Durations = NDArray[np.float64]
"""Durations by launch and iteration."""


@dataclass(frozen=True)
class _Method:
    """Intervals of one method over all repetitions."""

    held: int = 0
    width: float = 0.0

    def with_one(self, low: float, high: float) -> "_Method":
        """The same with one interval more."""
        return _Method(self.held + (low <= 1 <= high), self.width + math.log(high / low))


def main() -> int:
    """Simulate every number of launches, and print shares and widths."""
    kept = True
    print(f"share of {REPETITIONS} intervals that hold the true ratio, and their mean width")
    for between in BETWEEN:
        for launches in LAUNCHES:
            ours, bootstrap = simulate(launches, between)
            shares = [method.held / REPETITIONS for method in (ours, bootstrap)]
            widths = [method.width / REPETITIONS for method in (ours, bootstrap)]
            kept &= shares[0] >= LEAST - chance(LEAST, REPETITIONS)
            print(
                f"processes differ by {between:.0%}, {launches:>2} launches a side:"
                f" t and MOVER {shares[0]:.1%}, {widths[0]:.3f} wide;"
                f" bootstrap {shares[1]:.1%}, {widths[1]:.3f} wide"
            )
            data = {"measurement": "ratio_intervals", "between": between, "launches": launches}
            data |= {"t_mover": shares[0], "bootstrap": shares[1]}
            print(json.dumps(data), flush=True)
    return 0 if kept else 1


def simulate(launches: int, between: float) -> tuple[_Method, _Method]:
    """The intervals of both methods, over pairs of cells that take the same time."""
    random = np.random.default_rng(launches)
    ours, bootstrap = _Method(), _Method()
    for _ in range(REPETITIONS):
        first, second = (_durations(random, launches, between) for _ in range(2))
        ratio = _estimate(first, between).over(_estimate(second, between))
        ours = ours.with_one(ratio.low, ratio.high)
        ratios = _resampled(random, first) / _resampled(random, second)
        low, high = np.quantile(ratios, [0.025, 0.975])
        bootstrap = bootstrap.with_one(float(low), float(high))
    return ours, bootstrap


def _durations(random: np.random.Generator, launches: int, between: float) -> _Durations:
    levels = between * random.standard_normal((launches, 1))
    scatter = WITHIN * random.standard_normal((launches, ITERATIONS))
    return np.exp(levels + scatter)


def _estimate(durations: _Durations, between: float) -> Estimate:
    """The median with its interval, as a record has it."""
    interval = round_interval(
        [float(value) for value in np.median(durations, axis=1)], INTERVAL_CONFIDENCE
    )
    if interval is None:
        alone = [round(value * 1e9) for value in durations[0]]
        within = median_interval(alone, len(alone))
        assert within is not None
        interval = widened(within, _QUANTILE * between)
    return _as_estimate(interval)


def _as_estimate(interval: Interval) -> Estimate:
    return Estimate(interval.median, interval.low, interval.high)


def _resampled(random: np.random.Generator, durations: _Durations) -> _Durations:
    """The mean of launches' medians in each resample: launches are drawn first, then durations."""
    launches, iterations = durations.shape
    drawn = random.integers(launches, size=(RESAMPLES, launches))
    inside = random.integers(iterations, size=(RESAMPLES, launches, iterations))
    medians = np.median(durations[drawn[:, :, None], inside], axis=2)
    means: _Durations = medians.mean(axis=1)
    return means


if __name__ == "__main__":
    sys.exit(main())
