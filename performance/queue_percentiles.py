"""Error and bounds of the 99th percentile of a queue, simulated at loads from 0 to 0.95.

Queries arrive at random at a server that answers one at a time (Lindley's recursion), with
lognormal service times; load 0 is independent durations. The true percentile is that of tens of
millions of queries. Where the percentile is given it must be within 10 % in 90 % of the simulations
of each setting, as far as chance lets one tell (an exact binomial test).
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import binom

from performance.simulated import service_times, waiting_times
from runner.measure.statistics.spread import Floats
from runner.measure.statistics.tails import supported_percentiles

LOADS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
VARIATIONS = (0.1, 0.5)
SIZES = (800, 2_000, 6_620, 20_000, 60_000)
REPETITIONS = 200
TRUTH_QUERIES = 1_000_000
TRUTH_REPEATS = 12
ERROR = 0.10
LEAST_CLOSE = 0.90
LEAST_CHANCE = 0.005
"""Chance of so many that are further off, below which a setting misses; there are 70 settings."""
MOST_OUTSIDE = 0.10
"""Share of the simulations that give bounds which leave out the true percentile; 5 % is what 95 %
bounds say, the rest is the error of 200 simulations."""


@dataclass(frozen=True)
class Setting:
    """Parameters of one simulation."""

    load: float
    variation: float
    size: int


@dataclass(frozen=True)
class Outcome:
    """Shares of the simulations of one setting."""

    given: float
    """Those in which the percentile is supported."""
    wrong: float
    """Those in which it is given and more than 10 % off."""
    outside: float
    """Those in which it is given and its bounds leave out the true one."""

    @property
    def close(self) -> float | None:
        """Share within 10 % of those given."""
        return 1 - self.wrong / self.given if self.given else None

    @property
    def passes(self) -> bool:
        """True if the setting keeps the limits."""
        if self.close is None:
            return True
        given, wrong = (round(share * REPETITIONS) for share in (self.given, self.wrong))
        by_chance = float(binom.sf(wrong - 1, given, 1 - LEAST_CLOSE))
        return by_chance >= LEAST_CHANCE and self.outside <= MOST_OUTSIDE


def main() -> int:
    """Simulate every setting; return 1 if one misses a limit."""
    print("load cv   queries  given  within 10 %  bounds hold")
    failed = 0
    for variation, load in product(VARIATIONS, LOADS):
        truth = true_percentile(load, variation)
        for setting in (Setting(load, variation, size) for size in SIZES):
            outcome = simulate(setting, truth)
            failed += not outcome.passes
            report(setting, outcome)
    print(f"{failed} settings miss a limit")
    return int(failed > 0)


def report(setting: Setting, outcome: Outcome) -> None:
    """Print a line for people and one for programs."""
    close = "-" if outcome.close is None else f"{outcome.close:.0%}"
    holds = "-" if not outcome.given else f"{1 - outcome.outside / outcome.given:.0%}"
    verdict = "" if outcome.passes else "  MISSED"
    print(
        f"{setting.load:4.2f} {setting.variation:4.0%} {setting.size:8,} {outcome.given:6.0%}"
        f" {close:>10} {holds:>12}{verdict}"
    )
    data = {"measurement": "queue_percentiles", **vars(setting), **vars(outcome)}
    print(json.dumps(data), flush=True)


def true_percentile(load: float, variation: float) -> float:
    """The 99th percentile of a queue that has run for long."""
    random = np.random.default_rng(1)
    parts = (
        latencies(load, variation, TRUTH_QUERIES, random)[TRUTH_QUERIES // 50 :]
        for _ in range(TRUTH_REPEATS)
    )
    return float(np.quantile(np.concatenate(list(parts)), 0.99))


def simulate(setting: Setting, truth: float) -> Outcome:
    """Simulate one setting."""
    given = wrong = outside = 0
    for values in _samples(setting):
        percentile = supported_percentiles(values)["p99"]
        if percentile is not None:
            given += 1
            wrong += abs(percentile.value / truth - 1) > ERROR
            outside += not percentile.low <= truth <= percentile.high
    return Outcome(given / REPETITIONS, wrong / REPETITIONS, outside / REPETITIONS)


def _samples(setting: Setting) -> Iterator[Floats]:
    for seed in range(REPETITIONS):
        random = np.random.default_rng([seed, setting.size])
        yield latencies(setting.load, setting.variation, setting.size, random)


def latencies(load: float, variation: float, count: int, random: np.random.Generator) -> Floats:
    """Latencies of queries in order of arrival, in mean service times (Lindley, 1952)."""
    service = service_times(random, count, variation)
    if load == 0:
        return service
    return waiting_times(service, random.exponential(1 / load, count - 1)) + service


if __name__ == "__main__":
    sys.exit(main())
