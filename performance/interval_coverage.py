"""Coverage of one process' interval of the median, on simulated durations.

Durations are lognormal around 1 s, independent or correlated with the one before (AR(1)), with a
known median. They go through the runner's own steady phase and interval: with a fixed number of
iterations, and stopping as soon as the interval is narrow enough, as `quick` does. What processes
differ by, which a record of one process adds to this, is left out.
"""

import json
from dataclasses import dataclass

import numpy as np

from performance.simulated import SECOND, durations_of
from runner.measure.phases import Quota, run_steady_phase
from runner.measure.statistics.percentiles import median_interval
from runner.measure.statistics.spread import effective_count

REPETITIONS = 1_000


@dataclass(frozen=True)
class Setting:
    """Parameters of one simulation."""

    memory: float
    """Correlation of each duration's logarithm with the one before."""
    cv: float
    """Their coefficient of variation."""
    iterations: int
    """Fewest iterations."""
    target: float | None
    """The precision at which measuring ends; None: with these iterations."""

    @property
    def ends(self) -> str:
        """When measuring ends, in words."""
        if self.target is None:
            return f"{self.iterations} iterations"
        return f"from {self.iterations}, within {self.target:.0%}"


SETTINGS = [
    *(Setting(memory, 0.1, 20, target) for memory in (0.0, 0.5, 0.9) for target in (None, 0.02)),
    *(Setting(0.0, cv, 5, 0.05) for cv in (0.05, 0.1, 0.2)),
]


def main() -> None:
    """Simulate every setting and print the shares."""
    print(f"share of {REPETITIONS} intervals that hold the true median")
    for setting in SETTINGS:
        share = coverage(setting)
        print(f"AR(1) {setting.memory:.1f}, cv {setting.cv:.0%}, {setting.ends:<22} {share:.1%}")
        data = {"measurement": "interval_coverage", "memory": setting.memory, "cv": setting.cv}
        data |= {"iterations": setting.iterations, "target": setting.target}
        print(json.dumps(data | {"share": round(share, 3)}), flush=True)


def coverage(setting: Setting) -> float:
    """The share of repetitions whose interval holds the true median, 1 s."""
    quota = Quota(setting.iterations, 0, 300 * SECOND, setting.target)
    held = 0
    for seed in range(REPETITIONS):
        random = np.random.default_rng(seed)
        timed = durations_of(random, 1.0, setting.cv, setting.memory)
        durations = run_steady_phase(timed, quota)
        interval = median_interval(durations, effective_count(durations))
        held += interval is not None and interval.low <= SECOND <= interval.high
    return held / REPETITIONS


if __name__ == "__main__":
    main()
