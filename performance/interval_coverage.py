"""Coverage of the median's 95 % interval, on simulated durations.

Durations are lognormal around 1 s, independent or correlated with the one before (AR(1)), with a
known median. They go through the runner's own steady phase and interval, once
with a fixed number of iterations and once stopping as soon as the interval is narrow enough.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.measure.phases import Quota, run_steady_phase
from runner.measure.statistics.percentiles import median_interval
from runner.measure.statistics.spread import effective_count

REPETITIONS = 300
ITERATIONS = 20
VARIATION = 0.1
SECOND = 1_000_000_000
MEMORIES = (0.0, 0.5, 0.9)
TARGETS = (None, 0.02)


@dataclass(frozen=True)
class Setting:
    """Parameters of one simulation."""

    memory: float
    """Correlation of each duration's logarithm with the one before."""
    target: float | None
    """The precision at which measuring ends; None: 20 iterations."""


def main() -> None:
    """Simulate every setting and print the shares."""
    print(f"share of {REPETITIONS} intervals that hold the true median; cv {VARIATION:.0%}")
    for setting in (Setting(memory, target) for memory in MEMORIES for target in TARGETS):
        share = coverage(setting)
        ends = "20 iterations" if setting.target is None else f"within {setting.target:.0%}"
        print(f"AR(1) {setting.memory:.1f}, {ends:<14} {share:.1%}")
        data = {"measurement": "interval_coverage", "memory": setting.memory}
        print(json.dumps(data | {"target": setting.target, "share": round(share, 3)}), flush=True)


def coverage(setting: Setting) -> float:
    """The share of repetitions whose interval holds the true median, 1 s."""
    quota = Quota(ITERATIONS, 0, 300 * SECOND, setting.target, ())
    held = 0
    for seed in range(REPETITIONS):
        durations = run_steady_phase(durations_of(setting.memory, seed), quota)
        interval = median_interval(durations, effective_count(durations))
        held += interval is not None and interval.low <= SECOND <= interval.high
    return held / REPETITIONS


def durations_of(memory: float, seed: int) -> Callable[[], int]:
    """An endless series of durations, nanoseconds."""
    random = np.random.default_rng(seed)
    scale = math.sqrt(math.log(1 + VARIATION**2))
    state = random.standard_normal()

    def next_duration() -> int:
        nonlocal state
        state = memory * state + math.sqrt(1 - memory**2) * random.standard_normal()
        return round(SECOND * math.exp(scale * state))

    return next_duration


if __name__ == "__main__":
    main()
