"""Loops of the warm-up and the steady phase, and when they end."""

import gc
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast, runtime_checkable

from runner.contract.errors import TimedOut
from runner.contract.job import WINDOW_ITERATIONS, WINDOWS, Measure
from runner.measure.clock import NANOSECONDS, Clock, seconds
from runner.measure.statistics.percentiles import median_interval
from runner.measure.statistics.spread import effective_count

GARBAGE_COLLECTION = "collected and frozen before the warm-up, off while timed"
TOLERANCE = 0.05
LOOK_EVERY = 1.1  # growth of the iterations from one look at the precision to the next
LOOKING_CONFIDENCE = 0.97
"""Confidence of the interval that decides when to end; the one that is reported has 95 %."""
OVERHEAD_ITERATIONS = 1000

Execute = Callable[[], object]  # executes one query and returns when the device has finished it
Timed = Callable[[], int]  # executes one iteration and returns the nanoseconds it took
TimeSeries = Callable[[int, int, int], list[int]]
"""Executes iterations one behind the other and returns the nanoseconds of each: at least so many,
with at least such a sum, ending at such a sum in any case."""
Unmeasured = Callable[[], AbstractContextManager[None]]
"""Opens a context whose memory does not count as the iterations'."""


@dataclass(frozen=True)
class WarmUp:
    """Durations of a warm-up, and its end."""

    durations_ns: list[int]
    settled: bool  # True if the durations settled before the time was spent
    enough_windows: int | None  # windows that a later round needs at most; None if no round settled


@dataclass(frozen=True)
class Quota:
    """Iterations, time and precision that one round of the steady phase has to reach."""

    iterations: int
    min_ns: int  # least sum of their durations
    max_ns: int  # sum at which the round ends in any case; at least 1
    precision_target: float | None  # of the median; None if the others suffice


@runtime_checkable
class SelfTimed(Protocol):
    """A query that is timed where it is executed, by a clock of that place."""

    @property
    def series(self) -> TimeSeries: ...


_FOREVER_NS = 1 << 62


def time_once(query: Execute | SelfTimed, clock: Clock) -> int:
    """Nanoseconds that one query takes.

    To ask for the protocol `SelfTimed` would put 5 µs between any two queries.
    """
    series: TimeSeries | None = getattr(query, "series", None)
    if series is not None:
        return series(1, 0, _FOREVER_NS)[0]
    execute = cast("Execute", query)
    start = clock()
    execute()
    return clock() - start


def harness_overhead_s(query: Execute | SelfTimed, clock: Clock) -> float:
    """Median seconds that timing adds to a query, measured with an empty one."""
    if isinstance(query, SelfTimed):
        durations = query.series(OVERHEAD_ITERATIONS, 0, _FOREVER_NS)
    else:
        durations = [time_once(query, clock) for _ in range(OVERHEAD_ITERATIONS)]
    return seconds(round(statistics.median(durations)))


def heat(timed: Timed, span_s: float, series: TimeSeries | None = None) -> list[int]:
    """Iterate for so many seconds: at first a processor takes more power than it sustains."""
    span_ns = round(span_s * NANOSECONDS)
    with garbage_collection_off():
        return (series or each_of(timed))(1, span_ns, span_ns)


def warm_up(
    timed: Timed, clock: Clock, measure: Measure, enough_windows: int | None = None
) -> WarmUp:
    """Iterate until the duration has settled, within the measure's floor and cap.

    Iterations fill windows of at least three and at least a thirtieth of the cap. They have
    settled when the medians of three neighbouring windows lie within the precision that is asked of
    the result, 5 % at most.

    Where an earlier round's have settled, the first of the three windows that agreed was at their
    level already, so that as many as were filled by its end are enough for later rounds.
    """
    span_ns = measure.warmup_window_s * NANOSECONDS
    enough = enough_windows or math.inf
    tolerance = min(TOLERANCE, measure.precision_target)
    durations: list[int] = []
    medians: list[float] = []
    opened, settled = 0, False
    with garbage_collection_off():
        now = opened_at = clock()
        cap = now + round(measure.warmup_max_s * NANOSECONDS)
        while len(durations) < measure.warmup_iterations or not (settled or now >= cap):
            durations.append(timed())
            now = clock()
            if len(durations) - opened >= WINDOW_ITERATIONS and now - opened_at >= span_ns:
                medians.append(statistics.median(durations[opened:]))
                settled = len(medians) >= enough or _agree(medians[-WINDOWS:], tolerance)
                opened, opened_at = len(durations), now
    if _agree(medians[-WINDOWS:], tolerance):
        enough = min(enough, len(medians) - WINDOWS + 1)
    return WarmUp(durations, settled, None if enough == math.inf else int(enough))


def _agree(medians: Sequence[float], tolerance: float) -> bool:
    return len(medians) == WINDOWS and max(medians) - min(medians) <= tolerance * medians[-1]


def quota_of(measure: Measure, earlier_ns: int = 0) -> Quota:
    """The quota of a round: an equal share of the iterations and of the time.

    Rounds are of equal size, and it is their number that grows, since processes differ by more than
    iterations do: a round that goes on until all durations look precise would fill the sample with
    the level of one process (Kalibera & Jones 2013, section 6). The only round of a measure goes on
    until its own median is precise. `earlier_ns` is the time that earlier rounds have spent.
    """
    max_ns = round(measure.max_s * NANOSECONDS)
    return Quota(
        iterations=math.ceil(measure.iterations / measure.rounds),
        min_ns=round(measure.min_s * NANOSECONDS / measure.rounds),
        max_ns=max(1, min(max_ns // measure.rounds, max_ns - earlier_ns)),
        precision_target=measure.precision_target if measure.most_rounds == 1 else None,
    )


def run_steady_phase(
    timed: Timed,
    quota: Quota,
    unmeasured: Unmeasured = nullcontext,
    series: TimeSeries | None = None,
) -> list[int]:
    """Iterate at least once, until the quota is met or its time is spent; return the durations.

    Ending as soon as the interval looks narrow favours intervals that are narrow by luck, so that
    they enclose the true median less often than they say ("optional stopping"). Two things bound
    that: it looks only after every tenth more iterations, some 24 times in ten times as many, and
    at an interval of 97 % where it reports one of 95 % (the study `interval_coverage`). Looks lie
    between iterations and are not timed; `unmeasured` keeps their memory apart.

    A `TimedOut`, if an iteration never ends, has the durations of those before.
    """
    durations: list[int] = []
    several = series or each_of(timed)
    with garbage_collection_off():
        try:
            durations += several(quota.iterations, quota.min_ns, quota.max_ns)
            while (left_ns := quota.max_ns - sum(durations)) > 0:
                with unmeasured() if quota.precision_target else nullcontext():
                    if is_precise(durations, quota):
                        break
                more = math.ceil(len(durations) * LOOK_EVERY) - len(durations)
                durations += several(more, 0, left_ns)
        except TimedOut as silence:
            silence.ended_ns = [*durations, *silence.ended_ns]
            raise
    return durations


def is_precise(durations: Sequence[int], quota: Quota) -> bool:
    if quota.precision_target is None:
        return True
    interval = median_interval(durations, effective_count(durations), confidence=LOOKING_CONFIDENCE)
    precision = interval.precision if interval else None
    return precision is not None and precision <= quota.precision_target


@dataclass
class _Heap:
    """Objects that are alive in this process."""

    is_frozen: bool = False
    """True while it is set aside; `gc.get_freeze_count` would count all of it."""


heap = _Heap()


@contextmanager
def heap_set_aside() -> Iterator[None]:
    """Set aside what is alive until the context ends: no collection inside looks through it."""
    if heap.is_frozen:
        yield
        return
    gc.freeze()
    heap.is_frozen = True
    try:
        yield
    finally:
        heap.is_frozen = False
        gc.unfreeze()


@contextmanager
def garbage_frozen() -> Iterator[None]:
    """Collect garbage now, set aside what is left, and collect none before the context ends.

    It takes up to a third of a second, so nothing that is read or timed lies around its beginning.
    """
    gc.collect()
    with heap_set_aside(), garbage_collection_off():
        yield


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Collect no garbage in the context; around imports of torch it saves a sixth of their time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def each_of(timed: Timed) -> TimeSeries:
    """Executes iterations that time themselves one by one."""
    return partial(_each, timed)


def _each(timed: Timed, least: int, min_ns: int, max_ns: int) -> list[int]:
    durations: list[int] = []
    total = 0
    while total < max_ns and (len(durations) < least or total < min_ns):
        duration = timed()
        durations.append(duration)
        total += duration
    return durations
