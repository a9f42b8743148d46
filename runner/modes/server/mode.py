"""Scenario `server`: queries arrive on their own schedule, at a rate or at the peak rate.

The peak is the highest rate of arrivals whose 99th percentile meets an objective. The queries that
chose a rate have no say in its verification: MLPerf's count judges fresh ones by themselves. That
takes as many queries again, hence two fifths of the time, in which the study `peak_search`
verified 93 of 99 peaks in the time of `standard`.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median, stdev

import numpy as np

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, Grade, Scale, doubt
from runner.contract.rounds import Energy, RoundResult
from runner.measure.clock import NANOSECONDS, seconds
from runner.measure.phases import LOOK_EVERY, Quota, WarmUp, is_precise, quota_of
from runner.modes.base import InferenceWorkload, Instruments, measure_phases
from runner.modes.server.rates import MILLISECOND_NS, QueueModel, RateForecast, RateTrials
from runner.modes.server.serving import (
    SERVICE,
    Judge,
    Served,
    Server,
    Sleep,
    arrivals_ns,
    late_starts,
)

NO_TRIAL = "no trial was run: these are the warm-up's queries, which did not wait"
PILOT_SHARE = 0.1
"""Share of the time before the verification for a first trial, which tells service times."""
PILOT_LOAD = 0.5
FIRST_SHARE = 0.6  # share of the time that is left for the first rate that is accepted
VERIFY_SHARE = 0.4
"""Share of the search's time for fresh schedules at the rate that is called the peak."""
UNVERIFIED: Grade = "C"
"""The best grade of a peak that fresh schedules did not accept by themselves."""
WIDTH = 0.05  # the search ends when the bracket is narrower than this share of its upper end
BRACKET = Scale(b=WIDTH / 2, c=0.05, d=0.20)
"""Half of the bracket by its middle, beyond which a peak costs the grade A, B and C."""
LEAST_PROGRESS = 0.02  # share by which a verdict must narrow the bracket to be worth its time
RATES = 24  # rates between the ends of the bracket that are considered
SERVICE_DEVIATIONS = 2.6
"""Standard errors by which the mean service time may be shorter than it was."""


@dataclass(frozen=True)
class ServerResult:
    """A steady phase in the scenario `server`."""

    served: Served
    energy: Energy
    columns: Columns
    doubts: list[Doubt]


@dataclass(frozen=True)
class PeakSearch:
    """All trials of one search."""

    trials: Sequence[RateTrials]
    low: float | None  # the highest rate that was accepted; None without one
    high: float  # the lowest rate that was rejected, or at which no queue can be stable
    ended: str
    end: Doubt | None = None  # the doubt that this end raises; its grade follows from the bracket
    hopeless: bool = False  # True if not even a query alone would meet the objective

    @property
    def peak(self) -> RateTrials | None:
        return next((t for t in self.trials if t.verdict and t.rate == self.low), None)

    @property
    def columns(self) -> Columns:
        rejected = any(trial.verdict is False for trial in self.trials)
        return {
            "peak_qps": self.low,
            "peak_qps_low": self.low,
            "peak_qps_high": None if self.hopeless else self.high,
            "slo_met": True if self.low else False if rejected or self.hopeless else None,
            "search": [*(trial.line for trial in self.trials), f"ended: {self.ended}"],
        }

    @property
    def bracket_grade(self) -> Grade | None:
        if self.low is None:
            return "D"
        return BRACKET.grade((self.high - self.low) / (self.high + self.low))

    @property
    def doubts(self) -> list[Doubt]:
        grade, peak = self.bracket_grade, self.peak
        doubts = [replace(self.end, grade=grade)] if grade and self.end else []
        if peak is not None and not peak.verified:
            doubts.append(doubt("peak_unverified", UNVERIFIED, peak.rate, "raise_duration"))
        return doubts


def find_peak(server: Server, warmup_ns: Sequence[int], cell: Cell, job: Job) -> ServerResult:
    """Bracket the peak between a rate that is accepted and one that is rejected.

    MLPerf's count decides about each rate, over as many queries as are effectively independent, in
    fresh schedules at that rate alone, so that none is chosen for its luck. Measured service times
    tell which rates are worth the time, and no more. The latencies returned are those of the peak,
    else of the last trial, else of the warm-up.
    """
    service_ns = round(median(warmup_ns))
    slo_ms = cell.slo_ms or 0.0
    if service_ns > slo_ms * MILLISECOND_NS:
        alone_ms = service_ns / MILLISECOND_NS
        end = doubt("hopeless_rate", "D", alone_ms, "raise_slo", slo_ms=slo_ms)
        ended = f"a query alone takes {alone_ms:.3g} ms, beyond slo_ms {slo_ms:g}"
        search = PeakSearch([], None, NANOSECONDS / service_ns, ended, end, hopeless=True)
    else:
        search = _Search(server, warmup_ns, slo_ms, job).run()
    kept = search.peak or (search.trials[-1] if search.trials else None)
    if kept is not None:
        return ServerResult(kept.served, kept.energy, search.columns, search.doubts)
    own = {"timed_region": NO_TRIAL, "achieved_qps": None, "throughput": None}
    energy = Energy(joules=None, window_s=None, method="unavailable: no trial was run")
    untried = doubt("no_trial", "D", None, "raise_slo_or_duration")
    served = Served([*warmup_ns], [*warmup_ns], [], 0, sum(warmup_ns))
    return ServerResult(served, energy, {**search.columns, **own}, [*search.doubts, untried])


class _Search:
    def __init__(self, server: Server, warmup_ns: Sequence[int], slo_ms: float, job: Job) -> None:
        self._server = server
        self._slo_ms = slo_ms
        self._slo_ns = slo_ms * MILLISECOND_NS
        self._seed = job.seed
        self._budget_ns = round(job.measure.max_s * NANOSECONDS)
        self._end_ns = server.clock() + self._budget_ns
        self._deadline = self._end_ns - round(VERIFY_SHARE * self._budget_ns)
        usual = median(warmup_ns)
        self._service_ns = [value for value in warmup_ns if value <= 2 * usual]
        self._trials: list[RateTrials] = []
        self._low: float | None = None
        self._rejected: float | None = None

    def run(self) -> PeakSearch:
        model = QueueModel(self._service_ns, self._next_seed)
        pilot = model.forecast(PILOT_LOAD * self._high, self._slo_ns)
        self._serve(pilot, PILOT_SHARE * self._left_s())
        while (plan := self._plan()) is not None:
            self._serve(*plan)
        self._verify()
        return self._end()

    @property
    def _next_seed(self) -> list[int]:
        return [self._seed, len(self._trials)]

    @property
    def _high(self) -> float:
        """The lower one of the lowest rejected rate and the rate at which the line never ends."""
        count, mean = len(self._service_ns), fmean(self._service_ns)
        error = stdev(self._service_ns) / math.sqrt(count) if count > 1 else 0.0
        most = NANOSECONDS / (mean - min(SERVICE_DEVIATIONS * error, mean / 2))
        return min(most, self._rejected or most)

    def _left_s(self) -> float:
        return seconds(max(0, self._deadline - self._server.clock()))

    def _plan(self) -> tuple[RateForecast, float] | None:
        """The rate whose verdict narrows the bracket most, and the seconds that it may take."""
        low, high, left_s = self._low or 0.0, self._high, self._left_s()
        if high - low <= WIDTH * high:
            return None
        model = QueueModel(self._service_ns, self._next_seed)
        rates = np.linspace(self._low or high / 10, high, RATES + 2)[1:-1]
        forecasts = [model.forecast(float(rate), self._slo_ns) for rate in rates]
        for share in (FIRST_SHARE, 1.0) if self._low is None else (1.0,):
            accepted = [f for f in forecasts if f.accept_s <= share * left_s]
            rejected = [f for f in forecasts if f.reject_s <= share * left_s]
            options = [(f.rate - low, f, f.accept_s) for f in accepted[-1:]]
            if self._low is not None or not accepted:
                options += [(high - f.rate, f, f.reject_s) for f in rejected[:1]]
            worth = [option for option in options if option[0] > LEAST_PROGRESS * high]
            if worth:
                _, forecast, time_s = max(worth, key=lambda option: option[0])
                return forecast, time_s
        return None

    def _serve(self, forecast: RateForecast, time_s: float) -> None:
        """Serve a rate for so long, and go on at it once for as long if that decides nothing."""
        trials = RateTrials(forecast.rate, self._slo_ms, self._next_seed, forecast.weight)
        queries = max(1.0, time_s * trials.rate)
        trials.serve(self._server, queries, self._deadline)
        if trials.verdict is None and time_s <= self._left_s():
            trials.serve(self._server, queries, self._deadline)
        if not trials.runs:  # the time was over before its first query
            return
        self._trials.append(trials)
        self._service_ns = [ns for trial in self._trials for ns in trial.served.service_ns]
        if trials.verdict:
            self._low = max(self._low or 0.0, trials.rate)
        elif trials.verdict is False:
            self._rejected = min(self._rejected or math.inf, trials.rate)

    def _verify(self) -> None:
        """Verify the highest accepted rate, or a lower one; without any, go on at an undecided."""
        accepted = sorted((t for t in self._trials if t.verdict), key=lambda t: -t.rate)
        undecided = sorted((t for t in self._trials if t.verdict is None), key=lambda t: t.rate)
        for trials in accepted or undecided[:1]:
            left_s = seconds(self._end_ns - self._server.clock())
            if left_s <= 0:
                break
            serve = trials.verify if accepted else trials.serve
            serve(self._server, max(1.0, left_s * trials.rate), self._end_ns)
            if trials.verdict:
                break
            if trials.verdict is False:
                self._rejected = min(self._rejected or math.inf, trials.rate)
        self._low = max((t.rate for t in self._trials if t.verdict), default=None)

    def _end(self) -> PeakSearch:
        low, high = self._low, self._high
        bracket = f"the peak of this process lies between {low or 0:.3g} and {high:.3g} qps"
        search = PeakSearch(self._trials, low, high, bracket)
        if not search.bracket_grade:
            return search
        left = f"the {self._left_s():.0f} s that were left are too few for another verdict"
        facts = {"low_qps": low or 0.0, "high_qps": high}
        end = doubt("peak_bracket", "D", self._left_s(), "raise_duration", **facts)
        return PeakSearch(self._trials, low, high, f"{bracket}; {left}", end)


KEEPS_UP = 0.95
"""Least share of arrived queries that must be answered; below it, the end cut a queue off."""


def measure_server(
    session: Session, job: Job, cell: Cell, instruments: Instruments, sleep: Sleep = time.sleep
) -> RoundResult:
    """Measure latencies from Poisson arrivals at `target_qps`, or search the peak for `slo_ms`."""
    make = partial(InferenceWorkload, session, job, cell, instruments.clock)

    def serve(workload: InferenceWorkload, warmup: WarmUp) -> Columns:
        server = Server(workload, instruments.clock, sleep, instruments.energy)
        if cell.target_qps is None:
            outcome = find_peak(server, warmup.durations_ns, cell, job)
        else:
            outcome = serve_at_rate(server, cell.target_qps, job, instruments.spent_ns)
        waiting = "scheduled arrival to end of each query, waiting included"
        region, served = f"{waiting}; {session.timed_region}", outcome.served
        return {
            "samples": cell.batch_size * len(served.latencies_ns),
            "steady_ns": served.window_ns,
            "durations_ns": served.latencies_ns,
            "parts_ns": {SERVICE: served.service_ns},
            "energy": outcome.energy,
            "columns": {"timed_region": region, **outcome.columns},
            "doubts": [*outcome.doubts, *late_starts(served)],
        }

    result = measure_phases(make, serve, session, job, instruments)
    if cell.seeks_peak:  # faults of all trials, latencies of those at the peak
        return result.model_copy(update={"page_faults": None})
    return result


def serve_at_rate(server: Server, rate: float, job: Job, spent_ns: int = 0) -> ServerResult:
    """Serve this round's share of queries and time at a set rate, by a schedule of its own."""
    quota = quota_of(job.measure, spent_ns)
    arrivals = arrivals_ns(rate, [job.seed, job.round])
    served, energy = server.serve(arrivals, quota.max_ns, UntilPrecise(quota))
    return ServerResult(served, energy, {}, overload(served, rate))


class UntilPrecise(Judge):
    """Ends a run at the first idle moment after the quota is met."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._look_at = quota.iterations

    def ends_idle(self, latencies_ns: Sequence[int], passed_ns: int) -> bool:
        """Look at the precision after every tenth more queries, as the steady phase does."""
        if len(latencies_ns) < self._look_at or passed_ns < self._quota.min_ns:
            return False
        self._look_at = math.ceil(len(latencies_ns) * LOOK_EVERY)
        return is_precise(latencies_ns, self._quota)


def overload(served: Served, rate: float) -> list[Doubt]:
    """Doubts about a queue: it grows for ever from load 1 on, below it may be long at the end."""
    facts = {"offered_qps": rate, "completed_qps": served.achieved_qps}
    if rate * served.service_mean_s >= 1:
        most = 1 / served.service_mean_s
        return [doubt("queue_grew", "D", None, "lower_rate", most_qps=most, **facts)]
    if served.answered < KEEPS_UP:
        left = served.waiting
        return [doubt("queue_left", "C", left, "raise_duration_or_lower_rate", **facts)]
    return []
