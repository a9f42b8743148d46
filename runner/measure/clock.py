"""Clock in integer nanoseconds, and a sampler in a thread."""

import threading
import time
from collections.abc import Callable

Clock = Callable[[], int]  # returns nanoseconds that never go backwards

monotonic: Clock = time.perf_counter_ns

NANOSECONDS = 1_000_000_000
INTERVAL_S = 0.001  # default time between two readings of a `Sampler`


def seconds(nanoseconds: int) -> float:
    return nanoseconds / NANOSECONDS


def resolution_s(clock: Clock, samples: int = 1000) -> float:
    steps: list[int] = []
    while len(steps) < samples:
        start = clock()
        while (now := clock()) == start:
            pass
        steps.append(now - start)
    return seconds(min(steps))


class Sampler:
    """Reads in a thread during a `with` block; it slows torch, so nothing is timed beside it."""

    def __init__(self, read: Callable[[], int], interval_s: float = INTERVAL_S) -> None:
        self.samples: list[int] = []
        """The readings, in order."""
        self._read = read
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.samples.append(self._read())
            if self._stopped.wait(self._interval_s):
                return
