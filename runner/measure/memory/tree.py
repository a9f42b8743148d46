"""Reader of the memory of this process and of all that it has started."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from runner.measure.memory.process import KIBIBYTE


class TreeReader:
    """The proportional set size of a tree of processes: pages that several map count once.

    The kernel sums it up when it is asked (proc(5), smaps_rollup), which takes milliseconds for
    each process, so nobody asks while something is timed and there is no peak but that of samples.
    """

    method = "PSS of the browser's processes and this one; highest of samples, and their average"

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._process = psutil.Process()

    def current_bytes(self) -> int:
        """The sum of all processes that are alive."""
        return sum(self._each())

    def begin(self) -> None:
        """Do nothing: no counter keeps a peak."""

    def peak_bytes(self) -> int | None:
        """None: no counter keeps one."""
        return None

    def _each(self) -> Iterator[int]:
        for process in (self._process, *self._process.children(recursive=True)):
            with suppress(OSError, psutil.Error):
                yield self._proportional_bytes(process)

    def _proportional_bytes(self, process: psutil.Process) -> int:
        """PSS; the resident set where the system has none, which counts shared pages again."""
        try:
            text = (self._proc / str(process.pid) / "smaps_rollup").read_text()
        except FileNotFoundError:
            return int(process.memory_info().rss)
        _, _, rest = text.partition("\nPss:")
        return int(rest.split(maxsplit=1)[0]) * KIBIBYTE


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
