"""Bursts: stretches of a candidate's iterations while the others, loaded beside it, wait.

What candidates are compared by is the ratio of neighbouring bursts, since a shared machine changes
its speed from second to second. Between its bursts a candidate waits for a line on its stdin.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, takewhile
from statistics import median

from runner.contract.job import BURST_ITERATIONS, MOST_BURST_S
from runner.contract.rounds import Bursts
from runner.measure.clock import NANOSECONDS, Clock, monotonic
from runner.measure.phases import TimeSeries

LONGER_BY = 0.02
"""Share by which an iteration is longer than its burst's median while caches are not warm again."""
REST_WINDOW_S = 0.002
REST_SHARE = 0.1
"""Share of a core below which the threads of a process count as resting."""
MOST_REST_S = 0.5


@dataclass(frozen=True)
class Taken:
    """The iterations of all bursts of a launch, without those that were cold."""

    durations_ns: list[int]
    parts_ns: dict[str, list[int]]
    bursts: Bursts


@dataclass
class BurstTaker:
    """Takes bursts of a workload that times itself."""

    several: TimeSeries
    parts_ns: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The durations of the parts of all iterations, which the workload adds to."""
    clock_hz: Callable[[], float | None] = lambda: None
    """Reads the accelerator's clock."""
    own_s: Callable[[], float] = time.process_time
    clock: Clock = monotonic
    sleep: Callable[[float], None] = time.sleep
    _durations: list[list[int]] = field(default_factory=list, init=False)
    _rests_ns: list[int] = field(default_factory=list, init=False)
    _clocks_hz: list[float | None] = field(default_factory=list, init=False)

    def take(self, burst_s: float) -> None:
        least_ns, most_ns = (round(s * NANOSECONDS) for s in (burst_s, max(burst_s, MOST_BURST_S)))
        self._durations.append(self.several(BURST_ITERATIONS, least_ns, most_ns))
        self._clocks_hz.append(self.clock_hz())

    def rest(self) -> None:
        """Wait until no thread of this process spins any more."""
        began = self.clock()
        while self.clock() - began < MOST_REST_S * NANOSECONDS:
            before = self.own_s()
            self.sleep(REST_WINDOW_S)
            if self.own_s() - before < REST_SHARE * REST_WINDOW_S:
                break
        self._rests_ns.append(self.clock() - began)

    def taken(self) -> Taken:
        dropped = cold_iterations(self._durations)
        counts = [len(burst) for burst in self._durations]
        warm = [number >= dropped for count in counts for number in range(count)]

        def chosen(values: Sequence[int]) -> list[int]:
            several = len(values) // len(warm)
            return [*compress(values, (one for one in warm for _ in range(several)))]

        bursts = Bursts(
            iterations=[count - dropped for count in counts],
            dropped=dropped,
            rest_s=median(self._rests_ns) / NANOSECONDS,
            clocks_hz=self._clocks_hz,
        )
        parts_ns = {name: chosen(values) for name, values in self.parts_ns.items()}
        return Taken(chosen([*chain.from_iterable(self._durations)]), parts_ns, bursts)


def cold_iterations(bursts: Sequence[Sequence[int]]) -> int:
    """The number of iterations at the beginning of each burst that took longer than the rest.

    It is the same for all bursts of a launch, and at most a half of the shortest one.
    """
    middles = [median(burst) or 1 for burst in bursts]  # 0 if the clock is too coarse

    def is_cold(number: int) -> bool:
        ratios = (burst[number] / middle for burst, middle in zip(bursts, middles, strict=True))
        return median(ratios) > 1 + LONGER_BY

    return sum(1 for _ in takewhile(is_cold, range(min(map(len, bursts)) // 2)))
