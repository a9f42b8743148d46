"""Memory of a cell: what is used now, the highest and the mean use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.contract.rounds import MemoryUse
from runner.measure.clock import NANOSECONDS, Clock, Sampler, monotonic
from runner.measure.memory.cgroup import ROOT, GroupGauge, group_files, open_peak
from runner.measure.memory.gauge import Gauge
from runner.measure.memory.process import PROC, ResidentGauge, process_gauge


def gauge_for(*, in_container: bool, root: Path = ROOT, proc: Path = PROC) -> Gauge:
    """The gauge that suits the place where the job executes.

    In containers it is the control group's; outside, and in containers that show no control
    group, this process'.
    """
    gauge = process_gauge(proc)
    files = group_files(root) if in_container else None
    if files is None or not isinstance(gauge, ResidentGauge):
        return gauge
    return GroupGauge(files, gauge, open_peak(files.peak))


def memory_meter(*, in_container: bool, root: Path = ROOT, proc: Path = PROC) -> "MemoryMeter":
    """A meter over the gauge that suits the place where the job executes."""
    return MemoryMeter(gauge_for(in_container=in_container, root=root, proc=proc))


class MemoryMeter:
    """Peaks come from counters that cost nothing, averages from samples in a pass of their own.

    `reset` begins a cell, `mark` its steady phase, `observe` takes the samples, `use` sums up.
    """

    def __init__(self, gauge: Gauge, clock: Clock = monotonic) -> None:
        self._gauge = gauge
        self._clock = clock
        self._highest = 0
        self._before_mark: int | None = None
        self._samples: list[int] = []
        self.reset()

    @property
    def method(self) -> str:
        """What is read, and how it becomes a peak and an average."""
        return self._gauge.method

    def reset(self) -> None:
        """Begin a new peak and a new average."""
        self._samples.clear()
        self._before_mark = None
        self._begin_peak()

    def mark(self) -> None:
        """Keep the peak so far and begin the steady phase's."""
        self._before_mark = self.peak_bytes()
        self._begin_peak()

    def observe(self, action: Callable[[], object], min_s: float = 0.2) -> None:
        """Repeat the action for at least `min_s` seconds, and once, while a thread samples."""
        end = self._clock() + round(min_s * NANOSECONDS)
        with Sampler(self._gauge.current_bytes) as sampler:
            action()
            while self._clock() < end:
                action()
        self._samples += sampler.samples
        self._highest = max(self._highest, *sampler.samples)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the peak of what happens inside out of account."""
        self.peak_bytes()
        try:
            yield
        finally:
            self._gauge.begin()

    def current_bytes(self) -> int:
        """The use now, bytes."""
        return self._gauge.current_bytes()

    def peak_bytes(self) -> int:
        """The highest use since the last `reset` or `mark`, bytes."""
        self._highest = max(self._highest, self.current_bytes(), self._gauge.peak_bytes() or 0)
        return self._highest

    def use(self) -> MemoryUse:
        """The memory of the cell since the last `reset`."""
        latest = self.peak_bytes()
        count = len(self._samples)
        return MemoryUse(
            peak_bytes=max(latest, self._before_mark or 0),
            steady_peak_bytes=None if self._before_mark is None else latest,
            average_bytes=round(sum(self._samples) / count) if count else None,
        )

    def _begin_peak(self) -> None:
        self._gauge.begin()
        self._highest = self.current_bytes()
