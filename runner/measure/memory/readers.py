"""Readers of memory: of this process, and of the tree of processes that it has started."""

import resource
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

PROC_SELF = Path("/proc/self")
RESET_PEAK = "5"
KIBIBYTE = 1024


class MemoryReader(ABC):
    """A source of memory readings, in bytes."""

    is_slow = False
    """True if a reading takes milliseconds: none is taken beside timed iterations then."""

    @property
    @abstractmethod
    def method(self) -> str:
        """Names of the counters that are read, for the record."""

    @property
    def gap(self) -> str | None:
        """The part that readings lack, so that they are not the whole; None for nothing."""
        return None

    @abstractmethod
    def current_bytes(self) -> int:
        """The use now."""

    def counted(self, use_bytes: int) -> int:
        """The part of this use that a memory limit of the job counts: all of it without one."""
        return use_bytes

    def begin(self) -> None:  # noqa: B027 - a reader may keep no peak
        """Begin a new peak."""

    def peak_bytes(self) -> int | None:
        """The highest use since `begin` that counters report; None if they report none."""
        return None


class ResidentReader(MemoryReader):
    """The resident set: VmRSS now, VmHWM since the last reset.

    The kernel forgets VmHWM when 5 is written to /proc/self/clear_refs (proc(5)). `self` is
    this process in any PID namespace, so no process is ever looked up by its number. Both values
    are inaccurate by some pages for each thread, whose counts the kernel adds up late (proc(5)).
    """

    method = "VmHWM, reset for each cell; average of VmRSS"

    def __init__(self, proc: Path = PROC_SELF) -> None:
        self._proc = proc

    def current_bytes(self) -> int:
        return self._field("VmRSS")

    def mapped_file_bytes(self) -> int:
        """RssFile: resident pages of files that this process maps, e.g. libraries, weights."""
        return self._field("RssFile")

    def begin(self) -> None:
        """Reset VmHWM."""
        (self._proc / "clear_refs").write_text(RESET_PEAK)

    def peak_bytes(self) -> int:
        return self._field("VmHWM")

    def _field(self, name: str) -> int:
        _, _, rest = (self._proc / "status").read_text().partition(f"\n{name}:")
        return int(rest.split(maxsplit=1)[0]) * KIBIBYTE


class LifetimeReader(MemoryReader):
    """For systems whose peak cannot be reset: getrusage's ru_maxrss, if it rose since `begin`."""

    method = "ru_maxrss where it rose, else the highest sample; average of samples"

    def __init__(self) -> None:
        self._began_at = 0
        self._process = psutil.Process()

    def current_bytes(self) -> int:
        return int(self._process.memory_info().rss)

    def begin(self) -> None:
        self._began_at = _lifetime_peak_bytes()

    def peak_bytes(self) -> int | None:
        peak = _lifetime_peak_bytes()
        return peak if peak > self._began_at else None


def process_reader(proc: Path = PROC_SELF) -> MemoryReader:
    """The reader whose peak can be reset, if this system lets it, else the other."""
    reader = ResidentReader(proc)
    try:
        reader.begin()
    except OSError:
        return LifetimeReader()
    return reader


def _lifetime_peak_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else KIBIBYTE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


_METHOD = "PSS of the browser's processes and this one; highest of samples, and their average"


def smaps_rollup(pid: int) -> str:
    """The kernel's sums over the mappings of a process (proc(5))."""
    return Path(f"/proc/{pid}/smaps_rollup").read_text()


class TreeReader(MemoryReader):
    """The proportional set size of a tree of processes: pages that several map count once.

    The kernel sums it up when it is asked (proc(5), smaps_rollup), which takes milliseconds for
    each process, so nobody asks while something is timed and there is no peak but that of samples.
    """

    is_slow = True

    def __init__(
        self, process: psutil.Process | None = None, rollup: Callable[[int], str] = smaps_rollup
    ) -> None:
        self._process = process or psutil.Process()
        self._rollup = rollup
        self._resident: set[int] = set()
        """Processes of which this user may read the resident set alone."""
        self._unread: set[int] = set()
        """Processes of which this user may read nothing."""

    @property
    def method(self) -> str:
        resident = (
            f"; the resident set, which counts shared pages again, of {len(self._resident)} "
            "that this user may not look into"
        )
        gap = f"; none, as {self.gap}" if self.gap else ""
        return f"{_METHOD}{resident if self._resident else ''}{gap}"

    @property
    def gap(self) -> str | None:
        """The number of processes of which nothing can be read; None if there are none."""
        count = len(self._unread)
        return f"this user may not read the memory of {count} of them" if count else None

    def current_bytes(self) -> int:
        processes = (self._process, *self._process.children(recursive=True))
        return sum(map(self._proportional_bytes, processes))

    def _proportional_bytes(self, process: psutil.Process) -> int:
        """PSS; the resident set where the system has none, which counts shared pages again."""
        try:
            text = self._rollup(process.pid)
        except FileNotFoundError:
            return self._resident_bytes(process)
        except ProcessLookupError:
            return 0  # it has ended
        except PermissionError:
            self._resident.add(process.pid)
            return self._resident_bytes(process)
        _, _, rest = text.partition("\nPss:")
        return int(rest.split(maxsplit=1)[0]) * KIBIBYTE if rest else 0

    def _resident_bytes(self, process: psutil.Process) -> int:
        try:
            return int(process.memory_info().rss)
        except psutil.NoSuchProcess:
            return 0
        except psutil.AccessDenied:
            self._unread.add(process.pid)
            return 0


def cpu_seconds_of_tree() -> float:
    """CPU time of this process and of all that it has started, ended ones included."""
    own = psutil.Process()
    times = own.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for process in own.children(recursive=True):
        with suppress(psutil.Error):
            child = process.cpu_times()
            total += child.user + child.system + child.children_user + child.children_system
    return float(total)
