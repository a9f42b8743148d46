"""Memory of this process: what it uses now, and its peak since the last reset."""

import resource
import sys
from pathlib import Path

PROC = Path("/proc/self")
RESET_PEAK = "5"


class MemoryMeter:
    """Reads the resident set size and its high-water mark, in bytes.

    On Linux the mark is the kernel's VmHWM, reset by writing 5 to /proc/self/clear_refs
    (proc(5)). Elsewhere it is getrusage's ru_maxrss, which counts from the process' start.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._samples: list[int] = []
        self._resets = self._try_reset()

    @property
    def method(self) -> str:
        """How the peak is taken."""
        if self._resets:
            return "VmHWM, reset before each cell"
        return "ru_maxrss, since the process started"

    def reset(self) -> None:
        """Begin a new peak and a new average."""
        self._samples.clear()
        self._try_reset()

    def sample(self) -> None:
        """Take one reading for the average."""
        if self._resets:
            self._samples.append(self._status_bytes("VmRSS"))

    def peak_bytes(self) -> int:
        """The highest use since the last reset, bytes."""
        if self._resets:
            return self._status_bytes("VmHWM")
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

    def average_bytes(self) -> int | None:
        """The mean of the samples since the last reset, bytes; None without samples."""
        return sum(self._samples) // len(self._samples) if self._samples else None

    def _try_reset(self) -> bool:
        try:
            (self._proc / "clear_refs").write_text(RESET_PEAK)
        except OSError:
            return False
        return True

    def _status_bytes(self, key: str) -> int:
        for line in (self._proc / "status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
        return 0
