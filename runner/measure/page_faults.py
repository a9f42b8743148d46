"""Minor page faults of timed iterations, and what one costs on this host at the time.

An allocator that gives large outputs back to the kernel takes new pages for the next ones, which
the kernel fills with zeros one by one as they are written.
"""

import mmap
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from runner.contract.record.record import Columns
from runner.contract.rounds import PageFaults, RoundResult
from runner.measure.clock import NANOSECONDS, Clock, monotonic

PROBED_BYTES = 1 << 22
PROBES = 3
KEEPING = ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_")
"""The variables by which glibc keeps memory that was freed."""


def minor_faults() -> int:
    """Those of all threads of this process so far (getrusage(2))."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def fault_cost_s(clock: Clock = monotonic) -> float | None:
    """Seconds that a fault costs beyond writing to its page; None where the kernel counts none."""
    costs = []
    for _ in range(PROBES):
        before, began = minor_faults(), clock()
        with mmap.mmap(-1, PROBED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            pages = np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE]
            pages[:] = 1
            written = clock()
            pages[:] = 1
            again = clock() - written
            del pages
        taken, faults = clock() - began - 2 * again, minor_faults() - before
        if not faults:
            return None
        costs.append(max(0, taken) / faults / NANOSECONDS)
    return median(costs)


@dataclass
class PageFaultMeter:
    """Counts this process' faults between `begin` and `end`."""

    here: bool = True
    """False if iterations run in other processes."""
    count: Callable[[], int] = minor_faults
    cost_s: Callable[[], float | None] = fault_cost_s
    _faults: int = field(default=0, init=False)

    def begin(self) -> None:
        self._faults = -self.count()

    def end(self) -> None:
        self._faults += self.count()

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Leave out the faults of what happens inside."""
        before = self.count()
        yield
        self._faults -= self.count() - before

    def read(self) -> PageFaults | None:
        """The faults, with the cost of one now; None where they are not known."""
        cost_s = self.cost_s() if self.here else None
        return None if cost_s is None else PageFaults(count=self._faults, cost_s=cost_s)


def page_fault_columns(rounds: Sequence[RoundResult]) -> Columns:
    """Faults of an iteration over all rounds, and the median cost of one; none if a round lacks."""
    known = [result.page_faults for result in rounds if result.page_faults]
    if len(known) < len(rounds):
        return {}
    iterations = sum(len(result.durations_ns) for result in rounds)
    return {
        "page_faults": sum(faults.count for faults in known) / iterations,
        "page_fault_s": median(faults.cost_s for faults in known),
    }
