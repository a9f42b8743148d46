"""Time in integer nanoseconds."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns nanoseconds that never go backwards."""

monotonic: Clock = time.perf_counter_ns

NANOSECONDS = 1_000_000_000


def seconds(nanoseconds: int) -> float:
    """Nanoseconds as seconds."""
    return nanoseconds / NANOSECONDS


def resolution_s(clock: Clock, samples: int = 1000) -> float:
    """The smallest step between two different readings, in seconds."""
    return seconds(min(_next_step(clock) for _ in range(samples)))


def _next_step(clock: Clock) -> int:
    start = clock()
    while (now := clock()) == start:
        pass
    return now - start
