"""Readers of this process' memory: the resident set and its peak."""

import resource
import sys
from pathlib import Path

import psutil

from runner.measure.memory.reader import MemoryReader

PROC_SELF = Path("/proc/self")
RESET_PEAK = "5"
KIBIBYTE = 1024


class ResidentReader:
    """The resident set: VmRSS now, VmHWM since the last reset.

    The kernel forgets VmHWM when 5 is written to /proc/self/clear_refs (proc(5)). `self` is
    this process in any PID namespace, so no process is ever looked up by its number. Both values
    are inaccurate by some pages for each thread, whose counts the kernel adds up late (proc(5)).
    """

    method = "VmHWM, reset for each cell; average of VmRSS"
    is_slow = False
    gap = None

    def __init__(self, proc: Path = PROC_SELF) -> None:
        self._proc = proc

    def current_bytes(self) -> int:
        """VmRSS."""
        return self._field("VmRSS")

    def mapped_file_bytes(self) -> int:
        """RssFile: resident pages of files that this process maps, e.g. libraries, weights."""
        return self._field("RssFile")

    def begin(self) -> None:
        """Reset VmHWM.

        Raises:
            OSError: the kernel does not let us.
        """
        (self._proc / "clear_refs").write_text(RESET_PEAK)

    def peak_bytes(self) -> int:
        """VmHWM."""
        return self._field("VmHWM")

    def _field(self, name: str) -> int:
        _, _, rest = (self._proc / "status").read_text().partition(f"\n{name}:")
        return int(rest.split(maxsplit=1)[0]) * KIBIBYTE


class LifetimeReader:
    """For systems whose peak cannot be reset: getrusage's ru_maxrss since the process' start.

    It reports a peak only if that rose since `begin`.
    """

    method = "ru_maxrss where it rose, else the highest sample; average of samples"
    is_slow = False
    gap = None

    def __init__(self) -> None:
        self._began_at = 0
        self._process = psutil.Process()

    def current_bytes(self) -> int:
        """The resident set size."""
        return int(self._process.memory_info().rss)

    def begin(self) -> None:
        """Note the peak so far."""
        self._began_at = _lifetime_peak_bytes()

    def peak_bytes(self) -> int | None:
        """The peak, if it is a new one."""
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
