"""Rates of arrivals: a simulated queue that plans trials and bounds doubt, and the trials.

How many queries of a queue are worth an independent one depends on the rate. Service times in
random order, put through Lindley's recursion (1952), tell it beforehand, and by how much a queue
multiplies what processes differ by. No value of a record comes from here, but the width of an
interval does. A rate is tried by fresh schedules whose late queries are counted until they decide.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from runner.contract.rounds import Energy, total_energy
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.percentiles import chance_of_at_most, quantile
from runner.measure.statistics.spread import Floats
from runner.modes.server.serving import Judge, Served, Server, arrivals_ns

LATE_SHARE = 0.01
"""Share of latencies that may be beyond the objective: those above the 99th percentile."""
ACCEPT_RISK = 0.01
"""Chance to accept a rate at which the objective is missed: MLPerf's confidence is 99 %."""
REJECT_RISK = 0.04  # chance to reject a rate at which it is met
QUERIES = 60_000
FEWEST_CYCLES = 30  # busy periods of the model below which it says nothing about dependence
LATE_DEVIATIONS = 0.7
"""Deviations of the late queries' count that a plan allows for: three trials in four decide."""
_MOST_LATE = 200
_BISECTIONS = 12


@dataclass(frozen=True)
class RateForecast:
    """Expected outcome of trials at one rate."""

    rate: float
    late: float  # share of latencies beyond the objective
    weight: float  # queries that are worth one independent query; all if the queue hardly empties

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
        """The shares by which quantiles of latencies grow if each service takes a share longer.

        A run is so many queries from an empty line on.
        """
        usual, slower = (
            np.quantile(self._latencies(rate, stretch, run), fractions)
            for stretch in (1.0, 1.0 + share)
        )
        return [float(growth) for growth in slower / usual - 1]

    def sustained(self, slo_ns: float, stretch: float = 1.0) -> float:
        """The highest rate at which no more latencies than allowed are beyond the objective.

        It is no less than a hundredth of one query per mean service time.
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
        waiting = self._waiting(rate)
        latencies = waiting + self._service
        late = float(np.mean(latencies > slo_ns))
        level = slo_ns if late >= LATE_SHARE else float(np.quantile(latencies, 1 - LATE_SHARE))
        return RateForecast(rate, late, _weight(latencies > level, np.flatnonzero(waiting <= 0)))


def _weight(beyond: NDArray[np.bool_], starts: NDArray[np.intp]) -> float:
    """The variance of a count of queries by that of independent ones (Crane and Lemoine, 1977)."""
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
    certain = 1 - REJECT_RISK
    return _first(lambda count: chance_of_at_most(late - 1, count, LATE_SHARE) < certain) - 1


def _first(holds: Callable[[int], bool]) -> int:
    """The first count from 1 on for which a condition holds, which then holds for all above."""
    above = 1
    while not holds(above):
        above *= 2
    return bisect_left(range(above), True, lo=above // 2 + 1, hi=above, key=holds)


MILLISECOND_NS = 1_000_000
SCHEDULES = 3
"""Fresh schedules, each with an empty line at first, over which the queries of a verdict spread."""


class UntilRejected(Judge):
    """Ends a schedule as soon as all that are planned would reject the rate."""

    def __init__(self, slo_ns: float, allowed: int) -> None:
        self._slo_ns = slo_ns
        self._left = allowed

    def ends_after(self, latency_ns: int) -> bool:
        self._left -= latency_ns > self._slo_ns
        return self._left < 0


@dataclass
class RateTrials:
    """All schedules that were served at one rate."""

    rate: float
    slo_ms: float
    seed: Sequence[int]
    weight: float  # queries that are worth one independent query at this rate
    runs: list[Served] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    verdict: bool | None = None  # True: the rate is accepted, False: rejected, None: it goes on
    verified: bool | None = None  # that of verifying schedules alone; None without one

    @property
    def served(self) -> Served:
        return Served.joined(self.runs)

    @property
    def queries(self) -> int:
        return sum(len(run.latencies_ns) for run in self.runs)

    @property
    def late(self) -> int:
        slo_ns = self.slo_ms * MILLISECOND_NS
        return sum(latency > slo_ns for run in self.runs for latency in run.latencies_ns)

    @property
    def energy(self) -> Energy:
        return total_energy(self.energies)

    def serve(self, server: Server, planned: float, deadline: int) -> None:
        """Serve so many queries more, in fresh schedules, unless the rate is rejected before."""
        total = self.queries + planned
        for part in range(SCHEDULES):
            left_ns = deadline - server.clock()
            if left_ns <= 0:
                break
            count = math.ceil((total - self.queries) / (SCHEDULES - part))
            allowed = self._most_late(total) - self.late
            schedule = islice(arrivals_ns(self.rate, [*self.seed, len(self.runs)]), count)
            judge = UntilRejected(self.slo_ms * MILLISECOND_NS, allowed)
            served, energy = server.serve(schedule, left_ns, judge)
            self.runs.append(served)
            self.energies.append(energy)
            if self.late > self._most_late(total):
                break
        self._judge()

    def verify(self, server: Server, planned: float, deadline: int) -> None:
        """Judge fresh schedules by themselves; if undecided, all together must still accept."""
        fresh = RateTrials(self.rate, self.slo_ms, [*self.seed, len(self.runs)], self.weight)
        fresh.serve(server, planned, deadline)
        self.runs += fresh.runs
        self.energies += fresh.energies
        self.verified = fresh.verdict
        if fresh.verdict is None:
            self._judge()
        else:
            self.verdict = fresh.verdict

    def _judge(self) -> None:
        self.verdict = verdict(max(self.queries, 1), self.late, self.weight)

    def _most_late(self, queries: float) -> int:
        """The most late ones of so many queries that do not reject the rate."""
        count, late = math.ceil(queries / self.weight), 1
        while not rejects(count, late):
            late += 1
        return math.ceil(late * self.weight) - 1

    @property
    def line(self) -> str:
        word = {True: "accepted", False: "rejected", None: "undecided"}[self.verdict]
        reached_ms = quantile(self.served.latencies_ns, 1 - LATE_SHARE) / MILLISECOND_NS
        worth = self.queries / self.weight
        again = {True: ", verified", False: " by fresh schedules", None: ""}[self.verified]
        return (
            f"{self.rate:.3g} qps: {self.queries} queries worth {worth:.0f}, {self.late} beyond"
            f" {self.slo_ms:g} ms, p99 {reached_ms:.3g} ms, {word}{again}"
        )


def verdict(queries: int, late: int, weight: float) -> bool | None:
    """The verdict on a rate by MLPerf's count, over queries that are worth one each.

    True where the objective is met with 99 % confidence, False where it is missed with 96 %, else
    None: go on at the same rate. The count of queries is rounded against a verdict.
    """
    if accepts(math.floor(queries / weight), late / weight):
        return True
    return False if rejects(math.ceil(queries / weight), late / weight) else None


def accepts(count: int, late: float) -> bool:
    """True if so few late queries are unlikely where 1 % or more are late."""
    return count > 0 and _at_most(late, count) <= ACCEPT_RISK


def rejects(count: int, late: float) -> bool:
    """True if so many late queries are unlikely where less than 1 % are late."""
    return late >= 1 and 1 - _at_most(late - 1, count) <= REJECT_RISK


def _at_most(late: float, count: int) -> float:
    """The chance of at most so many late ones, between two counts in proportion."""
    below = math.floor(late)
    chance = chance_of_at_most(below, count, LATE_SHARE)
    if below == late:
        return chance
    return chance + (late - below) * (chance_of_at_most(below + 1, count, LATE_SHARE) - chance)
