"""Meter of a cell's host memory: current, highest and mean use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.contract.rounds import MemoryUse
from runner.measure.clock import NANOSECONDS, Clock, Sampler, monotonic
from runner.measure.memory.cgroup import (
    CGROUP_ROOT,
    CgroupReader,
    cgroup_files,
    memory_limit_bytes,
    open_kernel_peak,
)
from runner.measure.memory.readers import (
    PROC_SELF,
    MemoryReader,
    ResidentReader,
    TreeReader,
    process_reader,
)


def memory_meter(
    *, in_container: bool, of_tree: bool = False, root: Path = CGROUP_ROOT, proc: Path = PROC_SELF
) -> "MemoryMeter":
    """The meter of a container's control group, of a tree of processes, or of this process."""
    reader = process_reader(proc)
    files = cgroup_files(root) if in_container else None
    if files is None or not isinstance(reader, ResidentReader):
        return MemoryMeter(TreeReader() if of_tree else reader)
    peak, limit_bytes = open_kernel_peak(files.peak), memory_limit_bytes(root)
    return MemoryMeter(CgroupReader(files, reader, peak, limit_bytes))


class MemoryMeter:
    """Takes peaks from counters that cost nothing, averages from samples in a separate pass.

    `reset` begins a cell, `mark` its steady phase, `observe` takes the samples, `use` sums up.
    """

    def __init__(self, reader: MemoryReader, clock: Clock = monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self._highest = 0
        self._before_mark: int | None = None
        self._samples: list[int] = []
        self.reset()

    @property
    def method(self) -> str:
        """The counters behind peak and average, for the record."""
        return self._reader.method

    def reset(self) -> None:
        self._samples.clear()
        self._before_mark = None
        self._begin_peak()

    def mark(self) -> None:
        """Keep the peak so far and begin the steady phase's: it is called before that begins."""
        self._before_mark = self.peak_bytes()
        self._begin_peak()

    def observe(self, action: Callable[[], object], min_s: float = 0.2) -> None:
        """Repeat the action at least once, for at least `min_s` seconds, while a thread samples."""
        end = self._clock() + round(min_s * NANOSECONDS)
        with Sampler(self._reader.current_bytes) as sampler:
            action()
            while self._clock() < end:
                action()
        self._samples += sampler.samples
        self._highest = max(self._highest, *sampler.samples)

    @contextmanager
    def unmeasured(self) -> Iterator[None]:
        """Ignore the peak of what happens inside; where readings are slow it leaves none."""
        if self._reader.is_slow:
            yield
            return
        self.peak_bytes()
        try:
            yield
        finally:
            self._reader.begin()

    def current_bytes(self) -> int:
        return self._reader.current_bytes()

    def peak_bytes(self) -> int:
        """The highest use since the last `reset` or `mark`, bytes."""
        self._highest = max(self._highest, self.current_bytes(), self._reader.peak_bytes() or 0)
        return self.counted(self._highest)

    def counted(self, use_bytes: int) -> int:
        """The part of this use that a memory limit of the job counts."""
        return self._reader.counted(use_bytes)

    def use(self) -> MemoryUse:
        """The memory of the cell since the last `reset`; none where readings lack something."""
        latest = self.peak_bytes()
        if self._reader.gap:
            return MemoryUse(peak_bytes=None, steady_peak_bytes=None, average_bytes=None)
        count = len(self._samples)
        return MemoryUse(
            peak_bytes=max(latest, self._before_mark or 0),
            steady_peak_bytes=None if self._before_mark is None else latest,
            average_bytes=self.counted(round(sum(self._samples) / count)) if count else None,
        )

    def _begin_peak(self) -> None:
        self._reader.begin()
        self._highest = self.current_bytes()
