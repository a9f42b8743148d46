"""Noise of the host around something that is timed: other processes, steal, uneven speed."""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.contract.rounds import Noise
from runner.measure.clock import Clock, monotonic
from runner.measure.memory.cgroup import Throttling, cpu_throttling

_PROC_STAT = Path("/proc/stat")
REST_S = 0.05
"""Pause before the kernel is timed: a runtime's threads spin for a while after their last work,
some of them on the other half of its core."""
KERNEL_REPEATS = 20
KERNEL_STEPS = 10_000


@dataclass(frozen=True)
class CpuTimes:
    """Seconds that the host's CPUs spent since it started, and this process' share of them."""

    total: float
    busy: float
    steal: float
    own: float


def arithmetic(steps: int = KERNEL_STEPS) -> int:
    """Integer work of about a millisecond, always the same, that needs neither memory nor locks."""
    value = 1
    for _ in range(steps):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


class NoiseMeter:
    """Compares CPU times and a fixed kernel before and after; nothing runs in between."""

    def __init__(
        self,
        proc_stat: Path = _PROC_STAT,
        clock: Clock = monotonic,
        kernel: Callable[[], object] = arithmetic,
        own_s: Callable[[], float] = lambda: sum(os.times()[:4]),
        sleep: Callable[[float], None] = time.sleep,
        throttling: Callable[[], Throttling | None] = cpu_throttling,
    ) -> None:
        self._proc_stat = proc_stat
        self._clock = clock
        self._kernel = kernel
        self._own_s = own_s
        self._sleep = sleep
        self._throttling = throttling
        self._throttled: Throttling | None = None
        self._durations: list[int] = []
        self._times: CpuTimes | None = None

    def before(self) -> None:
        """Take the first readings; some 70 ms."""
        self._kernel()
        self._durations = self._time_kernel()
        self._throttled = self._throttling()
        self._times = self._read_times()

    def after(self) -> Noise:
        """Take the second readings and compare. Call `before` first.

        CPU time of child processes counts as ours once they have ended, until then as other load.
        """
        times, throttled = self._read_times(), self._throttling()
        durations = self._time_kernel()
        steal, other = _shares(self._times, times)
        return Noise(
            steal=steal,
            other_load=other,
            kernel_spread_before=_spread(self._durations),
            kernel_spread_after=_spread(durations),
            kernel_shift=statistics.median(durations) / statistics.median(self._durations) - 1,
            **_held_back(self._throttled, throttled),
        )

    def _time_kernel(self) -> list[int]:
        self._sleep(REST_S)
        durations = []
        for _ in range(KERNEL_REPEATS):
            start = self._clock()
            self._kernel()
            durations.append(self._clock() - start)
        return durations

    def _read_times(self) -> CpuTimes | None:
        own = self._own_s()
        try:
            first_line = self._proc_stat.read_text().partition("\n")[0]
            return parse_times(first_line, own)
        except (OSError, ValueError):  # some systems show no such file, or fewer fields
            return None


def noise_meter() -> NoiseMeter:
    """The meter of this host."""
    return NoiseMeter()


def parse_times(line: str, own_s: float) -> CpuTimes:
    """Parse the line `cpu` of /proc/stat (proc(5)).

    Its fields are user, nice, system, idle, iowait, irq, softirq and steal, in clock ticks; time
    of guests, which follows, is part of user and nice already.
    """
    second = os.sysconf("SC_CLK_TCK")
    fields = [int(field) / second for field in line.split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return CpuTimes(sum(fields), user + nice + system + irq + softirq, steal, own_s)


def _shares(before: CpuTimes | None, after: CpuTimes | None) -> tuple[float | None, float | None]:
    if before is None or after is None or after.total <= before.total:
        return None, None
    total = after.total - before.total
    others = (after.busy - before.busy) - (after.own - before.own)
    steal = after.steal - before.steal
    return max(0.0, steal) / total, max(0.0, others) / total


def _held_back(before: Throttling | None, after: Throttling | None) -> Mapping[str, Any]:
    if before is None or after is None:
        return {}
    return {
        "throttled_periods": after.periods - before.periods,
        "throttled_s": after.seconds - before.seconds,
    }


def _spread(durations: Sequence[int]) -> float:
    p90 = statistics.quantiles(durations, n=10, method="inclusive")[-1]
    return (p90 - min(durations)) / min(durations)
