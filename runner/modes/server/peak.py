"""Search for the peak: the highest rate of arrivals whose 99th percentile meets an objective."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record import Columns
from runner.contract.rounds import Energy
from runner.measure.clock import NANOSECONDS, seconds
from runner.measure.statistics.percentiles import iterations_needed, quantile
from runner.modes.server.serving import Doubts, Judge, Served, Server, ServerResult, arrivals_ns

NO_TRIAL = "no trial was run: these are the warm-up's queries, which did not wait"
PERCENTILE = 0.99
TRIAL_QUERIES = iterations_needed(PERCENTILE)
"""Queries of one trial: as many as support the percentile at 99 % confidence."""
MOST_QUERIES = 10 * TRIAL_QUERIES
"""With these, repeated searches for an objective of five service times agree within some 5 %."""
TRIAL_SHARE = 1 / 6
"""Share of the search's time for a trial of more than the fewest queries."""
WIDTH = 0.05
"""The search ends when the bracket is narrower than this share of its upper end."""
WIDEST = 0.20
"""Width of the bracket beyond which a peak must not be quoted."""
MILLISECOND_NS = 1_000_000


@dataclass(frozen=True)
class Trial:
    """A run of the server at one rate."""

    rate: float
    slo_ms: float
    planned: int
    """Queries that decide it, unless it must miss before."""
    served: Served
    energy: Energy

    @property
    def beyond(self) -> int:
        """Latencies beyond the objective."""
        slo_ns = self.slo_ms * MILLISECOND_NS
        return sum(latency > slo_ns for latency in self.served.latencies_ns)

    @property
    def reached_ms(self) -> float:
        """The percentile of the latencies."""
        return quantile(self.served.latencies_ns, PERCENTILE) / MILLISECOND_NS

    @property
    def met(self) -> bool | None:
        """True if the percentile met the objective; None if the time ended too early to know."""
        if self.beyond > tolerated(self.planned):
            return False
        complete = len(self.served.latencies_ns) == self.planned
        return self.reached_ms <= self.slo_ms if complete else None

    @property
    def line(self) -> str:
        """One line of the record's `search`."""
        count = len(self.served.latencies_ns)
        if count == self.planned:
            verdict = "met" if self.met else "missed"
            return f"{self.rate:.3g} qps: {count} queries, p99 {self.reached_ms:.3g} ms, {verdict}"
        if self.met is None:
            return (
                f"{self.rate:.3g} qps: the time was spent after {count} of {self.planned} queries"
            )
        late = f"{self.beyond} beyond {self.slo_ms:g} ms"
        return f"{self.rate:.3g} qps: gave up after {count} queries, {late}"


class UntilMissed(Judge):
    """Ends a trial as soon as it must miss the objective."""

    def __init__(self, slo_ms: float, planned: int) -> None:
        self._slo_ns = slo_ms * MILLISECOND_NS
        self._left = tolerated(planned)

    def ends_after(self, latency_ns: int) -> bool:
        """Count the latencies beyond the objective."""
        self._left -= latency_ns > self._slo_ns
        return self._left < 0


@dataclass(frozen=True)
class PeakSearch:
    """All trials of one search."""

    trials: Sequence[Trial]
    ended: str
    """Reason why there are no more, with the remedy if the search is not complete."""
    width: float
    """Bracket between the highest rate that met and the lowest that missed, by the latter."""
    hopeless: bool = False
    """True if not even a query alone would meet the objective."""

    @property
    def peak(self) -> Trial | None:
        """The trial at the highest rate that met the objective."""
        return max((t for t in self.trials if t.met), key=lambda t: t.rate, default=None)

    @property
    def columns(self) -> Columns:
        """Columns of the record about the search."""
        return {
            "peak_qps": self.peak.rate if self.peak else None,
            "slo_met": self.peak is not None if self.trials or self.hopeless else None,
            "search": [*(trial.line for trial in self.trials), f"ended: {self.ended}"],
        }

    @property
    def doubts(self) -> Doubts:
        """Doubts about the peak of a search that was cut short, by its bracket."""
        if self.width <= WIDTH:
            return []
        return [("C" if self.peak and self.width <= WIDEST else "D", self.ended)]


def tolerated(queries: int) -> int:
    """Number of latencies beyond the objective that the percentile of so many queries tolerates."""
    return queries - 1 - math.floor(PERCENTILE * (queries - 1))


def find_peak(server: Server, warmup_ns: Sequence[int], cell: Cell, job: Job) -> ServerResult:
    """Bisect between 0 and one query per median service time, within `measure.max_s`.

    Each trial begins with an empty queue and has a schedule of its own. A trial is a sample, so
    two searches differ, the more so the fewer queries its trials have. The latencies returned
    are those of the peak, else of the last trial, else of the warm-up.
    """
    service_ns = round(median(warmup_ns))
    slo_ms = cell.slo_ms or 0.0
    if service_ns > slo_ms * MILLISECOND_NS:
        alone = f"a query alone takes {service_ns / MILLISECOND_NS:.3g} ms"
        ended = f"{alone}, beyond slo_ms {slo_ms:g}: raise slo_ms"
        search = PeakSearch([], ended, width=1.0, hopeless=True)
    else:
        search = _search(server, service_ns, slo_ms, job)
    kept = search.peak or (search.trials[-1] if search.trials else None)
    if kept is None:
        return _of_warmup(warmup_ns, search)
    return ServerResult.of(kept.served, kept.energy, search.columns, search.doubts)


def _search(server: Server, service_ns: int, slo_ms: float, job: Job) -> PeakSearch:
    trials: list[Trial] = []
    met, missed = 0.0, NANOSECONDS / service_ns
    budget_ns = round(job.measure.max_s * NANOSECONDS)
    deadline = server.clock() + budget_ns
    while missed - met > WIDTH * missed:
        rate, left = (met + missed) / 2, deadline - server.clock()
        planned = _planned(rate, min(left, budget_ns * TRIAL_SHARE))
        schedule = list(islice(arrivals_ns(rate, [job.seed, len(trials)]), planned))
        needed = schedule[-1] + service_ns
        undecided = bool(trials) and trials[-1].met is None
        if undecided or needed > left:
            bracket = _bracket(met, missed)
            trial = f"{planned} queries at {rate:.3g} qps, takes {seconds(needed):.0f} s"
            time = f"{seconds(max(0, left)):.0f} s were left: raise measure.max_duration"
            ended = f"{bracket}, but the next trial, {trial} and {time}"
            return PeakSearch(trials, ended, (missed - met) / missed)
        served, energy = server.serve(iter(schedule), left, UntilMissed(slo_ms, planned))
        trials.append(Trial(rate, slo_ms, planned, served, energy))
        met, missed = _narrowed(met, missed, trials[-1])
    return PeakSearch(trials, f"{_bracket(met, missed)}, {WIDTH:.0%} apart at most", WIDTH)


def _planned(rate: float, time_ns: float) -> int:
    fitting = math.floor(rate * time_ns / NANOSECONDS)
    return min(max(fitting, TRIAL_QUERIES), MOST_QUERIES)


def _narrowed(met: float, missed: float, trial: Trial) -> tuple[float, float]:
    if trial.met is None:
        return met, missed
    return (trial.rate, missed) if trial.met else (met, trial.rate)


def _bracket(met: float, missed: float) -> str:
    return f"the peak lies between {met:.3g} and {missed:.3g} qps"


def _of_warmup(warmup_ns: Sequence[int], search: PeakSearch) -> ServerResult:
    return ServerResult(
        durations_ns=list(warmup_ns),
        service_ns=list(warmup_ns),
        window_ns=sum(warmup_ns),
        energy=Energy(joules=None, window_s=None, method="unavailable: no trial was run"),
        columns={
            **search.columns,
            "timed_region": NO_TRIAL,
            "achieved_qps": None,
            "throughput": None,
        },
        doubts=[*search.doubts, ("D", f"{NO_TRIAL}: raise slo_ms or measure.max_duration")],
    )
