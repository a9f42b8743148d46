"""Warm-up and steady phase: the loops that time a query."""

import gc
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from runner.cell import Measure
from runner.measure.clock import NANOSECONDS, Clock

WINDOW = 3
TOLERANCE = 0.05

Query = Callable[[], object]
"""Executes one query and returns when the device has finished it."""


@dataclass(frozen=True)
class WarmUp:
    """How the warm-up went."""

    durations_ns: list[int]
    settled: bool


def time_once(query: Query, clock: Clock) -> int:
    """Nanoseconds that one query takes."""
    start = clock()
    query()
    return clock() - start


def warm_up(query: Query, clock: Clock, measure: Measure) -> WarmUp:
    """Repeat the query until its duration has settled, within the measure's floor and cap."""
    durations: list[int] = []
    cap = clock() + round(measure.warmup_max_s * NANOSECONDS)
    while True:
        durations.append(time_once(query, clock))
        if len(durations) >= measure.warmup_iterations and has_settled(durations):
            return WarmUp(durations, settled=True)
        if clock() >= cap and len(durations) >= measure.warmup_iterations:
            return WarmUp(durations, settled=False)


def has_settled(durations: Sequence[int]) -> bool:
    """Whether the medians of the last two windows agree within the tolerance."""
    if len(durations) < 2 * WINDOW:
        return False
    before = statistics.median(durations[-2 * WINDOW : -WINDOW])
    now = statistics.median(durations[-WINDOW:])
    return abs(now - before) <= TOLERANCE * before


def steady(query: Query, clock: Clock, measure: Measure, between: Callable[[], None]) -> list[int]:
    """Time the query until count and time suffice; `between` runs untimed after each iteration."""
    durations: list[int] = []
    total, enough, budget = 0, measure.min_s * NANOSECONDS, measure.max_s * NANOSECONDS
    with _garbage_collection_off():
        while total < budget and (len(durations) < measure.iterations or total < enough):
            durations.append(time_once(query, clock))
            total += durations[-1]
            between()
    return durations


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
