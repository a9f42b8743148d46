"""Reader of the memory of this process and of all that it has started."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from runner.measure.memory.process import KIBIBYTE

_METHOD = "PSS of the browser's processes and this one; highest of samples, and their average"


def smaps_rollup(pid: int) -> str:
    """The kernel's sums over the mappings of a process (proc(5))."""
    return Path(f"/proc/{pid}/smaps_rollup").read_text()


class TreeReader:
    """The proportional set size of a tree of processes: pages that several map count once.

    The kernel sums it up when it is asked (proc(5), smaps_rollup), which takes milliseconds for
    each process, so nobody asks while something is timed and there is no peak but that of samples.
    """

    is_slow = True

    def __init__(
        self, process: psutil.Process | None = None, rollup: Callable[[int], str] = smaps_rollup
    ) -> None:
        """Begin at that process, by default this one; `rollup` gives the sums of one by its id."""
        self._process = process or psutil.Process()
        self._rollup = rollup
        self._resident: set[int] = set()
        """Processes of which this user may read the resident set alone."""
        self._unread: set[int] = set()
        """Processes of which this user may read nothing."""

    @property
    def method(self) -> str:
        """PSS, and of how many processes something else."""
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
        """The sum of all processes that are alive."""
        processes = (self._process, *self._process.children(recursive=True))
        return sum(map(self._proportional_bytes, processes))

    def begin(self) -> None:
        """Do nothing: no counter keeps a peak."""

    def peak_bytes(self) -> int | None:
        """None: no counter keeps one."""
        return None

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
