"""Batches that `offline` finds, on simulated machines whose best batch is known, with a fake clock.

The latency of a batch is a + c × batch, with a plateau on the way or without, a knee, or a decline
behind the best one. Each query scatters, and so does the level from one binding of a batch to the
next. With the time of `standard`, the batch found must give 95 % of the samples per second of the
best one in 95 % of the searches of each machine, a plateau included. With that of `quick`, at most
5 % of searches may miss that with grade A. None may take longer than its budget and a try.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import fmean

import numpy as np

from runner.contract.cell import ProfileName
from runner.contract.job import PROFILES
from runner.measure.clock import NANOSECONDS
from runner.modes.offline.curve import BatchTry
from runner.modes.offline.mode import SEARCH_SHARE
from runner.modes.offline.search import BatchSearch, SearchBounds, time_try

Machine = Callable[[int], float]
"""Seconds that a query of so many samples takes."""
BATCHES = [2**power for power in range(21)]
SLOW_BATCH = 1024
"""A search may take longer than its time by two queries of this batch."""
FIXED_S, SAMPLE_S = 0.008, 0.001
SEARCHES = 200
NEAR = 0.95
LEAST_NEAR = 0.95
QUERY_NOISE = 0.02
LEVELS = (0.0, 0.01, 0.02, 0.04)
"""Deviations of the level between bindings of one batch."""


def _line(batch: int) -> float:
    return FIXED_S + SAMPLE_S * batch


def _plateau(batch: int) -> float:
    """A line that jumps, so that batch 8 gives what batch 4 gives, and larger ones more."""
    return _line(batch) if batch <= 4 else 2 * _line(4) * max(1.0, _line(batch // 2) / _line(4))


def _knee(batch: int) -> float:
    return 0.01 * max(1.0, batch / 16)


def _decline(batch: int) -> float:
    return _line(batch) * (1.0 if batch <= 32 else 1.3)


MACHINES: dict[str, Machine] = {
    "line": _line,
    "plateau": _plateau,
    "knee": _knee,
    "decline": _decline,
}


_PROFILES: tuple[ProfileName, ...] = ("standard", "quick")


@dataclass(frozen=True)
class Found:
    """The outcome of one search."""

    share: float
    """Samples per second of the batch that was found, by those of the best."""
    batch: int
    seconds: float
    grade: str


def main() -> int:
    """Simulate every machine; return 1 if the limits are missed."""
    print("profile   machine    level  within 5 %  or doubted  batches        seconds  grade A")
    least: dict[str, float] = {}
    excess_s = 0.0
    for profile, name, level in product(_PROFILES, MACHINES, LEVELS):
        budget_s = SEARCH_SHARE * PROFILES[profile].max_s
        outcomes = [search(MACHINES[name], level, budget_s, seed) for seed in range(SEARCHES)]
        near = fmean(one.share >= NEAR for one in outcomes)
        doubted = fmean(one.share >= NEAR or one.grade > "A" for one in outcomes)
        least[profile] = min(least.get(profile, 1.0), near if profile == "standard" else doubted)
        excess_s = max(excess_s, *(one.seconds - budget_s for one in outcomes))
        batches = np.quantile([one.batch for one in outcomes], (0.05, 0.5, 0.95)).astype(int)
        print(
            f"{profile:<9} {name:<9} {level:6.0%} {near:11.1%} {doubted:11.1%}"
            f"  {'/'.join(map(str, batches)):<13} {fmean(one.seconds for one in outcomes):8.1f}"
            f" {fmean(one.grade == 'A' for one in outcomes):8.0%}",
            flush=True,
        )
    print(f"least: {least}; longest search {excess_s:.1f} s beyond its budget")
    print(json.dumps({"measurement": "offline_search", **least, "excess_s": excess_s}))
    slowest = max(machine(SLOW_BATCH) for machine in MACHINES.values())
    return int(min(least.values()) < LEAST_NEAR or excess_s > 2 * slowest)


def search(machine: Machine, level: float, budget_s: float, seed: int) -> Found:
    """Search once."""
    random = np.random.default_rng(seed)
    now = 0

    def clock() -> int:
        return now

    def trial(batch: int, until_ns: int) -> BatchTry:
        usual_ns = machine(batch) * NANOSECONDS * np.exp(level * random.standard_normal())

        def query() -> int:
            nonlocal now
            duration: int = round(usual_ns * np.exp(QUERY_NOISE * random.standard_normal()))
            now += duration
            return duration

        return BatchTry(batch, query(), time_try(query, clock, until_ns), 0)

    bounds = SearchBounds(1, 0, round(budget_s * NANOSECONDS), 0, 1)
    result = BatchSearch(trial, bounds, clock, lambda _: False).run()
    rates = {batch: batch / machine(batch) for batch in BATCHES}
    share = rates[result.best.batch_size] / max(rates.values())
    grade = max((doubt.grade for doubt in result.doubts), default="A")
    return Found(share, result.best.batch_size, now / NANOSECONDS, grade)


if __name__ == "__main__":
    sys.exit(main())
