"""Loops of the warm-up and the steady phase, and when they end."""

import gc
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain

from runner.contract.job import Measure
from runner.measure.clock import NANOSECONDS, Clock, seconds
from runner.measure.statistics.percentiles import median_interval
from runner.measure.statistics.spread import effective_count

GARBAGE_COLLECTION = "collected before, off while timed"
WINDOW_ITERATIONS = 3
WINDOW_SHARE = 1 / 30
"""A window's least time, by the warm-up's cap: three iterations of a fast query are over before
the clock frequency has moved."""
TOLERANCE = 0.05
LOOK_EVERY = 1.1
"""Growth of the iterations from one look at the precision to the next."""
OVERHEAD_ITERATIONS = 1000

Execute = Callable[[], object]
"""Executes one query and returns when the device has finished it."""
Timed = Callable[[], int]
"""Executes one iteration and returns the nanoseconds it took."""
Unmeasured = Callable[[], AbstractContextManager[None]]
"""Opens a context whose memory does not count as the iterations'."""


@dataclass(frozen=True)
class WarmUp:
    """Durations of a warm-up, and its end."""

    durations_ns: list[int]
    settled: bool
    """True if the durations settled before the time was spent."""


@dataclass(frozen=True)
class Quota:
    """Iterations, time and precision that one round of the steady phase has to reach."""

    iterations: int
    """Fewest iterations."""
    min_ns: int
    """Least sum of their durations."""
    max_ns: int
    """Sum at which the round ends in any case; at least 1."""
    precision_target: float | None
    """Precision of the median that ends the round; None if iterations and time suffice."""
    earlier: tuple[int, ...]
    """Durations of earlier rounds, which count for the precision."""


def time_once(query: Execute, clock: Clock) -> int:
    """Nanoseconds that one query takes."""
    start = clock()
    query()
    return clock() - start


def harness_overhead_s(query: Execute, clock: Clock) -> float:
    """Median seconds that timing adds to a query, measured with an empty one."""
    durations = [time_once(query, clock) for _ in range(OVERHEAD_ITERATIONS)]
    return seconds(round(statistics.median(durations)))


def warm_up(timed: Timed, clock: Clock, measure: Measure) -> WarmUp:
    """Iterate until the duration has settled, within the measure's floor and cap.

    Iterations fill windows of at least three and at least a thirtieth of the cap. They have
    settled when the medians of two neighbouring windows differ by no more than the precision that
    is asked of the result, 5 % at most.
    """
    span_ns = measure.warmup_max_s * NANOSECONDS * WINDOW_SHARE
    tolerance = min(TOLERANCE, measure.precision_target)
    durations: list[int] = []
    opened, before, settled = 0, math.inf, False
    with garbage_collection_off():
        now = opened_at = clock()
        cap = now + round(measure.warmup_max_s * NANOSECONDS)
        while len(durations) < measure.warmup_iterations or not (settled or now >= cap):
            durations.append(timed())
            now = clock()
            if len(durations) - opened >= WINDOW_ITERATIONS and now - opened_at >= span_ns:
                median = statistics.median(durations[opened:])
                settled = abs(median - before) <= tolerance * median
                opened, opened_at, before = len(durations), now, median
    return WarmUp(durations, settled)


def quota_of(measure: Measure, round_: int, earlier: Sequence[Sequence[int]]) -> Quota:
    """The quota of a round, counted from 1, after the durations of earlier ones.

    Every round takes its share of iterations and time. The last one goes on until the median of
    all rounds is precise, as long as the rounds together keep within `measure.max_s`.
    """
    last = round_ >= measure.rounds
    max_ns = round(measure.max_s * NANOSECONDS)
    durations = tuple(chain.from_iterable(earlier))
    left = max_ns - sum(durations) if last else max_ns // measure.rounds
    return Quota(
        iterations=math.ceil(measure.iterations / measure.rounds),
        min_ns=round(measure.min_s * NANOSECONDS / measure.rounds),
        max_ns=max(1, left),
        precision_target=measure.precision_target if last else None,
        earlier=durations,
    )


def run_steady_phase(timed: Timed, quota: Quota, unmeasured: Unmeasured = nullcontext) -> list[int]:
    """Iterate at least once, until the quota is met or its time is spent; return the durations.

    Ending as soon as the interval looks narrow favours intervals that are narrow by luck, so that
    they enclose the true median less often than they say ("optional stopping"). Looking only after
    every tenth more iterations, some 24 times in ten times as many, bounds that: simulated with
    independent durations, 95 % became 95 % from 20 iterations to a precision of 2 %, and 89 to
    91 % from 6 iterations to 5 %. Looks lie between iterations and are not timed.
    """
    durations: list[int] = []
    with garbage_collection_off():
        _iterate(timed, durations, quota.iterations, quota.min_ns, quota.max_ns)
        while sum(durations) < quota.max_ns and not _looks_precise(durations, quota, unmeasured):
            all_rounds = len(quota.earlier) + len(durations)
            target = math.ceil(all_rounds * LOOK_EVERY) - len(quota.earlier)
            _iterate(timed, durations, target, 0, quota.max_ns)
    return durations


def _looks_precise(durations: Sequence[int], quota: Quota, unmeasured: Unmeasured) -> bool:
    if quota.precision_target is None:
        return True
    with unmeasured():
        return is_precise(durations, quota)


def is_precise(durations: Sequence[int], quota: Quota) -> bool:
    """True if the median of all rounds is as precise as the quota asks."""
    if quota.precision_target is None:
        return True
    all_durations = (*quota.earlier, *durations)
    interval = median_interval(all_durations, effective_count(all_durations))
    if interval is None or interval.precision is None:
        return False
    return interval.precision <= quota.precision_target


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Collect garbage now, and not again before the end of the context."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _iterate(timed: Timed, durations: list[int], iterations: int, min_ns: int, max_ns: int) -> None:
    total = sum(durations)
    while total < max_ns and (len(durations) < iterations or total < min_ns):
        duration = timed()
        durations.append(duration)
        total += duration
