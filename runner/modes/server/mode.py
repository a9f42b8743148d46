"""Scenario `server`: queries arrive on their own schedule, at a rate or at the peak rate."""

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.doubts import Doubt, doubt
from runner.contract.rounds import RoundResult
from runner.measure.phases import LOOK_EVERY, Quota, WarmUp, is_precise, quota_of
from runner.modes.base import Instruments
from runner.modes.inference import InferenceWorkload
from runner.modes.server.peak import find_peak
from runner.modes.server.serving import (
    SERVICE,
    Judge,
    Served,
    Server,
    ServerResult,
    Sleep,
    arrivals_ns,
)
from runner.modes.steady import measure_phases

KEEPS_UP = 0.95
"""Least share of arrived queries that must be answered; below it, the end cut a queue off."""


def measure_server(
    session: Session, job: Job, cell: Cell, instruments: Instruments, sleep: Sleep = time.sleep
) -> RoundResult:
    """Measure latencies from Poisson arrivals at `target_qps`, or search the peak for `slo_ms`."""
    make = partial(InferenceWorkload, session, job, cell, instruments.clock)

    def serve(workload: InferenceWorkload, warmup: WarmUp) -> Mapping[str, Any]:
        server = Server(workload, instruments.clock, sleep, instruments.energy)
        if cell.target_qps is None:
            outcome = find_peak(server, warmup.durations_ns, cell, job)
        else:
            outcome = serve_at_rate(server, cell.target_qps, job, instruments.spent_ns)
        return _fields(outcome, cell, session.timed_region)

    return measure_phases(make, serve, session, job, instruments)


def _fields(outcome: ServerResult, cell: Cell, query: str) -> Mapping[str, Any]:
    region = f"scheduled arrival to end of each query, waiting included; {query}"
    return {
        "samples": cell.batch_size * len(outcome.durations_ns),
        "steady_ns": outcome.window_ns,
        "durations_ns": outcome.durations_ns,
        "parts_ns": {SERVICE: outcome.service_ns},
        "energy": outcome.energy,
        "columns": {"timed_region": region, **outcome.columns},
        "doubts": outcome.doubts,
    }


def serve_at_rate(server: Server, rate: float, job: Job, spent_ns: int = 0) -> ServerResult:
    """Serve this round's share of queries and time at the given rate; rounds differ in schedules.

    Args:
        server: answers the queries.
        rate: arrivals per second.
        job: the job with its measure and round.
        spent_ns: time that earlier rounds have taken.
    """
    quota = quota_of(job.measure, spent_ns)
    arrivals = arrivals_ns(rate, [job.seed, job.round])
    served, energy = server.serve(arrivals, quota.max_ns, UntilPrecise(quota))
    return ServerResult.of(served, energy, {}, overload(served, rate))


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
    """Doubts about latencies of a queue that grew.

    A queue of arrivals at `rate` grows for ever if rate × mean service time reaches 1. Below that
    it can still be long when the time is spent.
    """
    facts = {"offered_qps": rate, "completed_qps": served.achieved_qps}
    if rate * served.service_mean_s >= 1:
        most = 1 / served.service_mean_s
        return [doubt("queue_grew", "D", None, "lower_rate", most_qps=most, **facts)]
    if served.answered < KEEPS_UP:
        left = served.waiting
        return [doubt("queue_left", "C", left, "raise_duration_or_lower_rate", **facts)]
    return []
