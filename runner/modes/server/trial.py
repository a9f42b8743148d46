"""Trials of one rate: fresh schedules whose late queries are counted until they decide."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from runner.contract.rounds import Energy, total_energy
from runner.measure.statistics.binomial import chance_of_at_most
from runner.measure.statistics.percentiles import quantile
from runner.modes.server.queue_model import ACCEPT_RISK, LATE_SHARE, REJECT_RISK, RateForecast
from runner.modes.server.serving import Judge, Served, Server, arrivals_ns

MILLISECOND_NS = 1_000_000
SCHEDULES = 3
"""Fresh schedules, each with an empty line at first, over which the queries of a verdict spread."""


class UntilRejected(Judge):
    """Ends a schedule as soon as all that are planned would reject the rate."""

    def __init__(self, slo_ns: float, allowed: int) -> None:
        self._slo_ns = slo_ns
        self._left = allowed

    def ends_after(self, latency_ns: int) -> bool:
        """Count the latencies beyond the objective."""
        self._left -= latency_ns > self._slo_ns
        return self._left < 0


@dataclass
class RateTrials:
    """All schedules that were served at one rate."""

    rate: float
    slo_ms: float
    seed: Sequence[int]
    weight: float
    """Queries that are worth one independent query at this rate."""
    runs: list[Served] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    verdict: bool | None = None
    """True if the rate is accepted, False if it is rejected, None while it goes on."""
    verified: bool | None = None
    """The verdict of the schedules that verified the rate, by themselves; None without one."""

    @property
    def served(self) -> Served:
        """The queries of all schedules."""
        return Served.joined(self.runs)

    @property
    def queries(self) -> int:
        """Queries that were answered."""
        return sum(len(run.latencies_ns) for run in self.runs)

    @property
    def late(self) -> int:
        """Queries whose latency was beyond the objective."""
        slo_ns = self.slo_ms * MILLISECOND_NS
        return sum(latency > slo_ns for run in self.runs for latency in run.latencies_ns)

    @property
    def energy(self) -> Energy:
        """Energy of all schedules, if each has it."""
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
        """Serve so many queries in fresh schedules, and judge them by themselves.

        Where they decide nothing, all queries together must still accept the rate.
        """
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
        """One line of the record's `search`."""
        word = {True: "accepted", False: "rejected", None: "undecided"}[self.verdict]
        reached_ms = quantile(self.served.latencies_ns, 1 - LATE_SHARE) / MILLISECOND_NS
        worth = self.queries / self.weight
        again = {True: ", verified", False: " by fresh schedules", None: ""}[self.verified]
        return (
            f"{self.rate:.3g} qps: {self.queries} queries worth {worth:.0f}, {self.late} beyond"
            f" {self.slo_ms:g} ms, p99 {reached_ms:.3g} ms, {word}{again}"
        )


def trials_of(forecast: RateForecast, slo_ms: float, seed: Sequence[int]) -> RateTrials:
    """Trials of a rate that have not begun."""
    return RateTrials(forecast.rate, slo_ms, seed, forecast.weight)


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
