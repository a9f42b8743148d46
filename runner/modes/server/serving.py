"""Server with one worker: queries wait in a queue, and each latency counts from its arrival."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from statistics import fmean, median

import numpy as np

from runner.contract.record.verdict import Doubt, doubt
from runner.contract.rounds import Energy
from runner.measure.clock import NANOSECONDS, Clock, seconds
from runner.measure.energy import EnergyMeter
from runner.measure.phases import garbage_collection_off

Sleep = Callable[[float], None]  # waits for that many seconds without using a core

MOST_COUNTED = 100_000
"""Most waiting queries that are counted: counting millions would take longer than the run."""
SERVICE = "service"  # the part of a latency that is not waiting
LONGEST_RUN = 2
"""Longest run with a line to answer at the end, by its budget; a line that grew for ever would take
longer still."""
MAX_LATENESS = 0.05
"""The runner's own delay in starting a query, by its service time, beyond which it is a doubt."""


class Judge:
    """Decides when a run ends; this base class leaves it to the arrivals and the budget."""

    def ends_after(self, latency_ns: int) -> bool:
        """True if the run ends with this query; called after each one, so it must be quick."""
        del latency_ns
        return False

    def ends_idle(self, latencies_ns: Sequence[int], passed_ns: int) -> bool:
        """True if the run ends now that the queue is empty; the time it takes does not count."""
        del latencies_ns, passed_ns
        return False


@dataclass(frozen=True)
class Served:
    """The queries that were answered, in order of arrival; durations in nanoseconds."""

    latencies_ns: list[int]  # from each arrival to its query's end, with waiting and our lateness
    service_ns: list[int]  # from each query's start to its end
    lateness_ns: list[int]  # delays of the runner in starting queries that found an empty queue
    waiting: int  # queries that arrived within the budget and were not answered, up to 100,000
    window_ns: int  # from the first arrival to the last end

    @classmethod
    def joined(cls, runs: "Sequence[Served]") -> "Served":
        return cls(
            latencies_ns=[value for run in runs for value in run.latencies_ns],
            service_ns=[value for run in runs for value in run.service_ns],
            lateness_ns=[value for run in runs for value in run.lateness_ns],
            waiting=sum(run.waiting for run in runs),
            window_ns=sum(run.window_ns for run in runs),
        )

    @property
    def achieved_qps(self) -> float:
        return len(self.latencies_ns) * NANOSECONDS / self.window_ns

    @property
    def answered(self) -> float:
        return len(self.latencies_ns) / (len(self.latencies_ns) + self.waiting)

    @property
    def service_mean_s(self) -> float:
        return fmean(self.service_ns) / NANOSECONDS

    @property
    def service_median_s(self) -> float:
        return median(self.service_ns) / NANOSECONDS


@dataclass(frozen=True)
class Server:
    """Answers queries one at a time, first come, first served."""

    query: Callable[[], int]  # answers one query and returns the nanoseconds it took
    clock: Clock
    sleep: Sleep
    energy: EnergyMeter

    def serve(
        self, arrivals_ns: Iterator[int], budget_ns: int, judge: Judge
    ) -> tuple[Served, Energy]:
        """Answer queries until the judge ends it, none are left, or the budget is spent.

        Those in line when the budget is spent are answered and counted, as MLPerf's are, unless
        that takes as long again. Between queries the process sleeps, as MLPerf's load generator
        does; the kernel wakes it some 0.1 ms late, which counts as latency. While the queue is
        empty, the judge may take its time and delay the next Poisson arrival, which has no memory.
        """
        with garbage_collection_off():
            self.energy.start()
            served = self._serve(arrivals_ns, budget_ns, judge)
            return served, self.energy.stop()

    def _serve(self, arrivals_ns: Iterator[int], budget_ns: int, judge: Judge) -> Served:
        latencies: list[int] = []
        service: list[int] = []
        lateness: list[int] = []
        unanswered: list[int] = []
        origin, passed = self.clock(), 0
        for due in arrivals_ns:
            idle = bool(latencies) and due >= passed
            if idle:
                idle_since = self.clock()
                if judge.ends_idle(latencies, passed):
                    break
                origin += self.clock() - idle_since
            if latencies and (due >= budget_ns or passed >= LONGEST_RUN * budget_ns):
                unanswered.append(due)
                break
            while (started := self.clock()) < origin + due:
                self.sleep(seconds(origin + due - started))
            service.append(self.query())
            passed = self.clock() - origin
            latencies.append(passed - due)
            if idle:
                lateness.append(started - origin - due)
            if judge.ends_after(latencies[-1]):
                break
        arrived = takewhile(
            lambda due: due <= passed and due < budget_ns, chain(unanswered, arrivals_ns)
        )
        waiting = sum(1 for _ in islice(arrived, MOST_COUNTED))
        return Served(latencies, service, lateness, waiting, passed)


def late_starts(served: Served) -> list[Doubt]:
    if not served.lateness_ns:
        return []
    late_s = median(served.lateness_ns) / NANOSECONDS
    share = late_s / served.service_median_s
    if share <= MAX_LATENESS:
        return []
    return [doubt("late_starts", "B", share, "accept_lateness", late_s=late_s)]


def arrivals_ns(rate: float, seed: int | Sequence[int]) -> Iterator[int]:
    """Endless arrival times of a Poisson process, in nanoseconds after the first one.

    The same seed gives the same schedule, stretched by the rate.
    """
    generator = np.random.default_rng(seed)
    due = 0.0
    while True:
        yield round(due)
        due += generator.standard_exponential() * NANOSECONDS / rate
