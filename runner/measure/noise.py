"""Noise of the host around something that is timed: other processes, steal, uneven speed."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

from runner.contract.rounds import Noise
from runner.measure.clock import Clock, monotonic
from runner.measure.memory.cgroup import Throttling, cpu_throttling
from runner.measure.memory.readers import cpu_seconds_of_tree

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
    own: float
    used: float
    """Those of the CPUs that this process may use."""
    steal: float
    """Those that a hypervisor took of the used ones: what it takes of others delays nobody here."""

    def later_by(self, begin: "CpuTimes", end: "CpuTimes") -> "CpuTimes":
        """These times moved forward by what was spent between two moments."""
        triples = zip(astuple(self), astuple(begin), astuple(end), strict=True)
        return CpuTimes(*(own + after - before for own, before, after in triples))


@dataclass(frozen=True)
class ProcStat:
    """The kernel's file of CPU times, as a process reads it that may use these CPUs."""

    path: Path = Path("/proc/stat")
    cpus: Collection[int] | None = None  # None for all

    def read(self, own_s: float) -> CpuTimes | None:
        """The times now; None on systems that show no such file, or fewer fields."""
        try:
            return parse_times(self.path.read_text(), own_s, self.cpus)
        except (OSError, ValueError, LookupError):
            return None


_PROC_STAT = ProcStat()


def arithmetic(steps: int = KERNEL_STEPS) -> int:
    """Integer work of about a millisecond, always the same, that needs neither memory nor locks."""
    value = 1
    for _ in range(steps):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


@dataclass
class NoiseMeter:
    """Compares CPU times and a fixed kernel before and after; nothing runs in between."""

    proc_stat: ProcStat = _PROC_STAT
    clock: Clock = monotonic
    kernel: Callable[[], object] = arithmetic
    own_s: Callable[[], float] = lambda: sum(os.times()[:4])
    sleep: Callable[[float], None] = time.sleep
    throttling: Callable[[], Throttling | None] = cpu_throttling
    _throttled: Throttling | None = field(default=None, init=False)
    _switches: int = field(default=0, init=False)
    _durations: Sequence[int] = field(default=(), init=False)
    _times: CpuTimes | None = field(default=None, init=False)
    _paused: CpuTimes | None = field(default=None, init=False)

    def before(self) -> None:
        """Take the first readings; some 70 ms."""
        self.kernel()
        self._durations = self._time_kernel()
        self._throttled = self.throttling()
        self._switches = _involuntary_switches()
        self._times = self.proc_stat.read(self.own_s())

    def after(self) -> Noise:
        """Compare with the first readings; children's CPU time is ours once they have ended."""
        times, throttled = self.proc_stat.read(self.own_s()), self.throttling()
        switches = _involuntary_switches() - self._switches
        durations = self._time_kernel()
        steal, other = _shares(self._times, times)
        held = throttled and self._throttled and throttled.since(self._throttled)
        return Noise(
            steal=steal,
            other_load=other,
            kernel_spread_before=_spread(self._durations),
            kernel_spread_after=_spread(durations),
            kernel_shift=statistics.median(durations) / statistics.median(self._durations) - 1,
            involuntary_switches=switches,
            throttled_periods=held and held.periods,
            throttled_s=held and held.seconds,
        )

    def pause(self) -> None:
        """Count nothing from here to `resume`: others, loaded beside this process, take turns."""
        self._paused = self.proc_stat.read(self.own_s())

    def resume(self) -> None:
        now = self.proc_stat.read(self.own_s())
        if self._times and self._paused and now:
            self._times = self._times.later_by(self._paused, now)

    def _time_kernel(self) -> list[int]:
        self.sleep(REST_S)
        durations = []
        for _ in range(KERNEL_REPEATS):
            start = self.clock()
            self.kernel()
            durations.append(self.clock() - start)
        return durations


def noise_meter(cpus: Collection[int] | None = None, *, of_tree: bool = False) -> NoiseMeter:
    """The meter of these CPUs; `of_tree` counts the CPU time of children as ours at once."""
    if of_tree:
        return NoiseMeter(ProcStat(cpus=cpus), own_s=cpu_seconds_of_tree)
    return NoiseMeter(ProcStat(cpus=cpus))


def parse_times(text: str, own_s: float, cpus: Collection[int] | None = None) -> CpuTimes:
    """Parse the lines `cpu`, of all CPUs, and `cpu0`, … of /proc/stat (proc(5)).

    Their fields are user, nice, system, idle, iowait, irq, softirq and steal, in clock ticks; time
    of guests, which follows, is part of user and nice already. Where the CPUs that may be used are
    not listed, all stand for them.
    """
    lines = (line.split() for line in text.splitlines() if line.startswith("cpu"))
    ticks = {name: [int(field) for field in fields[:8]] for name, *fields in lines}
    user, nice, system, _idle, _iowait, irq, softirq, _steal = fields = ticks["cpu"]
    used = [ticks[name] for cpu in cpus or () if (name := f"cpu{cpu}") in ticks] or [fields]
    second = os.sysconf("SC_CLK_TCK")
    return CpuTimes(
        total=sum(fields) / second,
        busy=(user + nice + system + irq + softirq) / second,
        own=own_s,
        used=sum(map(sum, used)) / second,
        steal=sum(line[-1] for line in used) / second,
    )


def _shares(before: CpuTimes | None, after: CpuTimes | None) -> tuple[float | None, float | None]:
    if before is None or after is None or after.total <= before.total:
        return None, None
    total, used = after.total - before.total, after.used - before.used
    others = (after.busy - before.busy) - (after.own - before.own)
    steal = max(0.0, after.steal - before.steal) / used if used > 0 else None
    return steal, max(0.0, others) / total


def _involuntary_switches() -> int:
    """Those of this process' threads and of its children that have ended (getrusage(2))."""
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(usage).ru_nivcsw for usage in usages)


def _spread(durations: Sequence[int]) -> float:
    p90 = statistics.quantiles(durations, n=10, method="inclusive")[-1]
    return (p90 - min(durations)) / min(durations)
