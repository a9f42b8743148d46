"""A queue with the service times that were measured, simulated to plan trials and to bound doubt.

A trial's length depends on how many queries of a queue are worth an independent one, and that on
the rate. Service times in random order, put through Lindley's recursion (1952), tell it beforehand,
and by how much a queue multiplies what processes differ by. No value of a record comes from here,
but the width of an interval does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.binomial import chance_of_at_most
from runner.measure.statistics.spread import Floats

LATE_SHARE = 0.01
"""Share of latencies that may be beyond the objective: those above the 99th percentile."""
ACCEPT_RISK = 0.01
"""Chance to accept a rate at which the objective is missed: MLPerf's confidence is 99 %."""
REJECT_RISK = 0.04
"""Chance to reject a rate at which it is met."""
QUERIES = 60_000
FEWEST_CYCLES = 30
"""Busy periods of the model below which it says nothing about dependence."""
LATE_DEVIATIONS = 0.7
"""Deviations of the late queries' count that a plan allows for: three trials in four decide."""
_MOST_LATE = 200
_BISECTIONS = 12


@dataclass(frozen=True)
class RateForecast:
    """Expected outcome of trials at one rate."""

    rate: float
    late: float
    """Share of latencies beyond the objective."""
    weight: float
    """Queries that are worth one independent query; all of them where the queue hardly empties."""

    @property
    def accept_s(self) -> float:
        """Seconds of a trial that accepts the rate; infinite if none would."""
        return self._queries(accepting=True) / self.rate

    @property
    def reject_s(self) -> float:
        """Seconds of a trial that rejects the rate; infinite likewise."""
        return self._queries(accepting=False) / self.rate

    def _queries(self, *, accepting: bool) -> float:
        for late in range(0 if accepting else 1, _MOST_LATE):
            count = accepted_from(late) if accepting else rejected_up_to(late)
            expected = count * self.late
            spread = LATE_DEVIATIONS * math.sqrt(expected)
            if (expected + spread <= late) if accepting else (expected - spread >= late):
                return (count + 1) * self.weight
        return math.inf


class QueueModel:
    """A queue with one place, Poisson arrivals and given service times in random order."""

    def __init__(self, service_ns: Sequence[int], seed: Sequence[int]) -> None:
        random = np.random.default_rng(seed)
        self._service: Floats = random.choice(np.asarray(service_ns, dtype=float), QUERIES)
        self._gaps = random.standard_exponential(QUERIES) * NANOSECONDS
        self.mean_ns = float(np.mean(np.asarray(service_ns, dtype=float)))

    def slowdowns(
        self, rate: float, share: float, fractions: Sequence[float], run: int = QUERIES
    ) -> list[float]:
        """The shares by which quantiles of latencies grow if each service takes longer.

        Args:
            rate: queries per second.
            share: the share by which a service takes longer.
            fractions: those of the quantiles.
            run: queries from an empty line on; one that never empties is as long as its run.
        """
        usual, slower = (
            np.quantile(self._latencies(rate, stretch, run), fractions)
            for stretch in (1.0, 1.0 + share)
        )
        return [float(growth) for growth in slower / usual - 1]

    def sustained(self, slo_ns: float, stretch: float = 1.0) -> float:
        """The highest rate at which no more latencies than allowed are beyond the objective.

        It is no less than a hundredth of one query per mean service time.

        Args:
            slo_ns: the objective.
            stretch: how many times as long each service takes.
        """
        most = NANOSECONDS / (stretch * self.mean_ns)
        low, high = most / 100, most
        for _ in range(_BISECTIONS):
            rate = (low + high) / 2
            met = np.mean(self._latencies(rate, stretch) > slo_ns) <= LATE_SHARE
            low, high = (rate, high) if met else (low, rate)
        return low

    def _latencies(self, rate: float, stretch: float, run: int = QUERIES) -> Floats:
        waiting = self._waiting(rate, stretch, run)
        return waiting + stretch * self._service[: len(waiting)]

    def _waiting(self, rate: float, stretch: float = 1.0, run: int = QUERIES) -> Floats:
        """Waiting times of run after run, if each service takes so many times as long."""
        run = min(run, QUERIES)
        service, gaps = (
            values[: QUERIES // run * run].reshape(-1, run)
            for values in (self._service, self._gaps)
        )
        steps = stretch * service[:, :-1] - gaps[:, :-1] / rate
        surplus = np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
        return np.asarray(surplus - np.minimum.accumulate(surplus, axis=1)).ravel()

    def forecast(self, rate: float, slo_ns: float) -> RateForecast:
        """Simulate the rate."""
        waiting = self._waiting(rate)
        latencies = waiting + self._service
        late = float(np.mean(latencies > slo_ns))
        level = slo_ns if late >= LATE_SHARE else float(np.quantile(latencies, 1 - LATE_SHARE))
        return RateForecast(rate, late, _weight(latencies > level, np.flatnonzero(waiting <= 0)))


def _weight(beyond: NDArray[np.bool_], starts: NDArray[np.intp]) -> float:
    """The variance of a count of queries by that of independent ones.

    Busy periods are independent of each other (regenerative simulation: Crane and Lemoine, 1977).
    """
    share = float(np.mean(beyond))
    if len(starts) < FEWEST_CYCLES or not 0 < share < 1:
        return float(len(beyond))
    late = np.add.reduceat(beyond.astype(float), starts)
    sizes = np.diff(np.append(starts, len(beyond)))
    variance = float(np.sum((late - share * sizes) ** 2)) / len(beyond)
    return max(1.0, variance / (share * (1 - share)))


@cache
def accepted_from(late: int) -> int:
    """The fewest independent queries of which so many late ones accept a rate.

    MLPerf's early stopping for the scenario Server (loadgen/early_stopping.cc): the least n with
    P(Binomial(n, 0.01) <= late) <= 1 - confidence.
    """
    return _first(lambda count: chance_of_at_most(late, count, LATE_SHARE) <= ACCEPT_RISK)


@cache
def rejected_up_to(late: int) -> int:
    """The most independent queries of which so many late ones reject a rate."""
    return (
        _first(lambda count: 1 - chance_of_at_most(late - 1, count, LATE_SHARE) > REJECT_RISK) - 1
    )


def _first(holds: Callable[[int], bool]) -> int:
    """The first count from 1 on for which a condition holds, which then holds for all above."""
    above = 1
    while not holds(above):
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above
