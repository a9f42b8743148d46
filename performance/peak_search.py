"""Brackets of searches for the peak, on simulated queues with one place and a fake clock.

Service times are lognormal; the true peak is found by Lindley's recursion over a million queries.
The true peak must lie inside the bracket in 95 % of the searches of each setting, as far as chance
lets one tell, and in 95 % of all that found a bracket with two ends. At most 2 % of the rates that
are called the peak may lie above it.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from performance.simulated import chance, service_times, waiting_times
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.rounds import Energy
from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.modes.server.peak import find_peak
from runner.modes.server.serving import Server, ServerResult

SERVICE_NS = 5_000_000
VARIATIONS = (0.1, 0.5)
OBJECTIVES = (3, 5, 20)
"""By the mean service time."""
BUDGETS_S = {"quick": 30, "standard": 300}
SEARCHES = 20
TRUTH_QUERIES = 1_000_000
LEAST_INSIDE = 0.95
MOST_ABOVE = 0.02


@dataclass(frozen=True)
class Setting:
    """Parameters of one simulation."""

    variation: float
    objective: float
    profile: str


@dataclass(frozen=True)
class Found:
    """A peak that a search found."""

    inside: bool
    """True if the true one lies inside its bracket."""
    above: bool
    """True if its rate lies above the true one."""

    @classmethod
    def of(cls, outcome: Any, truth: float) -> "Found":
        """The peak of this outcome."""
        return cls(is_inside(outcome, truth), outcome["peak_qps"] > truth)


@dataclass
class FakeTime:
    """A clock that moves when something is waited for."""

    now: int = 0

    def __call__(self) -> int:
        """The time, nanoseconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.now += max(1, round(seconds * NANOSECONDS))


class NoEnergy:
    """A meter without a counter."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> Energy:
        """No reading."""
        return Energy(joules=None, window_s=None, method="unavailable: simulated")


def main() -> int:
    """Simulate every setting; return 1 if the limits are missed."""
    print("cv    objective  budget     inside  above  accepted  low / peak  high / peak")
    held, found = True, []
    for variation, objective in product(VARIATIONS, OBJECTIVES):
        truth = true_peak(variation, objective)
        for profile in BUDGETS_S:
            setting = Setting(variation, objective, profile)
            outcomes = [search(setting, seed).columns for seed in range(SEARCHES)]
            report(setting, outcomes, truth)
            inside = fmean(is_inside(outcome, truth) for outcome in outcomes)
            held &= inside >= LEAST_INSIDE - chance(LEAST_INSIDE, SEARCHES)
            found += [Found.of(outcome, truth) for outcome in outcomes if outcome["peak_qps"]]
    inside, above = (fmean(getattr(one, name) for one in found) for name in ("inside", "above"))
    print(f"of {len(found)} peaks: true one inside {inside:.1%}, accepted above it {above:.1%}")
    data = {"measurement": "peak_search", "peaks": len(found), "inside": inside, "above": above}
    print(json.dumps(data))
    return int(not held or inside < LEAST_INSIDE or above > MOST_ABOVE)


def report(setting: Setting, outcomes: list[Any], truth: float) -> None:
    """Print a line."""
    inside = sum(is_inside(outcome, truth) for outcome in outcomes)
    above = sum((outcome["peak_qps"] or 0.0) > truth for outcome in outcomes)
    lows = [outcome["peak_qps"] for outcome in outcomes if outcome["peak_qps"]]
    low = f"{median(lows) / truth:.2f}" if lows else "-"
    high = median(outcome["peak_qps_high"] for outcome in outcomes) / truth
    print(
        f"{setting.variation:4.0%} {setting.objective:8} {setting.profile:>10}"
        f" {inside / SEARCHES:9.0%} {above / SEARCHES:6.0%} {len(lows) / SEARCHES:9.0%}"
        f" {low:>10} {high:12.2f}",
        flush=True,
    )


def is_inside(outcome: Any, truth: float) -> bool:
    """True if the bracket holds the true peak."""
    return (outcome["peak_qps_low"] or 0.0) <= truth <= cast("float", outcome["peak_qps_high"])


def search(setting: Setting, seed: int, level: float = 1.0) -> ServerResult:
    """Search for the peak once, on a process whose services take so many times as long."""
    random = np.random.default_rng(seed)
    clock = FakeTime()
    query = service_of(setting.variation, level, random, clock)
    warmup = [query() for _ in range(10)]
    server = Server(query, clock, clock.sleep, cast("EnergyMeter", NoEnergy()))
    measure = SimpleNamespace(max_s=BUDGETS_S[setting.profile])
    slo_ms = setting.objective * SERVICE_NS / 1e6
    cell = cast("Cell", SimpleNamespace(slo_ms=slo_ms))
    return find_peak(server, warmup, cell, cast("Job", SimpleNamespace(seed=seed, measure=measure)))


def service_of(
    variation: float, level: float, random: np.random.Generator, clock: FakeTime
) -> Callable[[], int]:
    """A query whose time is lognormal."""
    buffer: list[int] = []

    def query() -> int:
        if not buffer:
            drawn = level * SERVICE_NS * service_times(random, 1000, variation)
            buffer.extend(drawn.astype(int).tolist())
        duration = buffer.pop()
        clock.now += duration
        return duration

    return query


def true_peak(variation: float, objective: float) -> float:
    """The rate at which 1 % of the latencies are beyond the objective."""
    random = np.random.default_rng(1)
    service = SERVICE_NS * service_times(random, TRUTH_QUERIES, variation)
    gaps = random.standard_exponential(TRUTH_QUERIES - 1) * NANOSECONDS
    low, high = 0.0, NANOSECONDS / SERVICE_NS
    for _ in range(20):
        rate = (low + high) / 2
        latencies = waiting_times(service, gaps / rate) + service
        met = np.mean(latencies > objective * SERVICE_NS) <= 0.01
        low, high = (rate, high) if met else (low, rate)
    return low


if __name__ == "__main__":
    sys.exit(main())
