"""Control group of this process, versions 1 and 2: its limits and its use of memory."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from runner.contract.host import read_word
from runner.measure.memory.readers import MemoryReader, ResidentReader

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
_UNLIMITED = 1 << 60
_RESET = b"0"


@dataclass(frozen=True)
class Throttling:
    """Times that a CPU quota held a control group back, added up since it was made."""

    periods: int
    seconds: float  # CPU time of its threads

    def since(self, before: "Throttling") -> "Throttling":
        return Throttling(self.periods - before.periods, self.seconds - before.seconds)


def memory_limit_bytes(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUPS) -> int | None:
    texts = [
        read_word(folder / name)
        for folder in _groups("memory", root, own)
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    limits = [int(text) for text in texts if text is not None and text != "max"]
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


def cpu_limit(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUPS) -> float | None:
    quotas = map(_quota, _groups("cpu", root, own))
    return min((quota for quota in quotas if quota is not None), default=None)


def cpu_throttling(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUPS) -> Throttling | None:
    """Times that quotas held this process' groups back, added up; None if no quota is counted."""
    stats = [_stat(folder) for folder in _groups("cpu", root, own)]
    counted = [stat for stat in stats if "nr_throttled" in stat]
    if not counted:
        return None
    periods = sum(stat["nr_throttled"] for stat in counted)
    # Version 2 counts microseconds, version 1 nanoseconds.
    microseconds = sum(stat.get("throttled_usec", 0) for stat in counted)
    nanoseconds = sum(stat.get("throttled_time", 0) for stat in counted)
    return Throttling(periods, microseconds / 1e6 + nanoseconds / 1e9)


def _groups(controller: str, root: Path, own: Path) -> Sequence[Path]:
    """Folders of this process' control groups and those above them; containers see none above."""
    folders = [root, root / controller]
    for line in (read_word(own) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            mounted = root / controller if controllers else root
            group = PurePosixPath(path.lstrip("/"))
            folders += [mounted / part for part in (group, *group.parents)]
    return list(dict.fromkeys(folders))


def _quota(folder: Path) -> float | None:
    unified = read_word(folder / "cpu.max")
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    quota, period = unified.split() if unified else (read_word(folder / name) for name in names)
    if quota is None or period is None or quota in ("max", "-1"):
        return None
    return int(quota) / int(period)


def _stat(folder: Path) -> dict[str, int]:
    lines = (read_word(folder / "cpu.stat") or "").splitlines()
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}


class KernelPeak:
    """A file with the highest charge so far, which some systems allow to be reset.

    From Linux 6.12 on, writing to memory.peak begins a new peak for readers through the same
    open file (Documentation/admin-guide/cgroup-v2.rst); version 1 takes a zero. Where the
    control group is mounted read-only, as in containers, neither can be.
    """

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file
        self._began_at = self.highest_bytes()

    def begin(self) -> None:
        if self._file is not None and self._file.writable():
            with suppress(OSError):
                self._file.seek(0)
                self._file.write(_RESET)
        self._began_at = self.highest_bytes()

    def risen_bytes(self) -> int | None:
        """The peak, if it rose since `begin`; else None, also without such a file."""
        peak = self.highest_bytes()
        if peak is None or self._began_at is None or peak <= self._began_at:
            return None
        return peak

    def highest_bytes(self) -> int | None:
        """The peak as the kernel tells it; None without such a file."""
        if self._file is None:
            return None
        self._file.seek(0)
        return int(self._file.read())


def open_kernel_peak(path: Path) -> KernelPeak:
    """The peak in this file, opened for writing too where the kernel allows it."""
    for mode in ("r+b", "rb"):
        with suppress(OSError):
            return KernelPeak(path.open(mode, buffering=0))
    return KernelPeak(None)


@dataclass(frozen=True)
class CgroupFiles:
    """Paths of one version of the interface, and its keys."""

    version: str
    usage: Path
    peak: Path
    stat: Path
    file_cache: str  # key in `stat` of the page cache, which counts tmpfs and shared memory too
    shared: str  # key in `stat` of tmpfs and shared memory alone


def cgroup_files(root: Path = CGROUP_ROOT) -> CgroupFiles | None:
    """The files of the version that is mounted; None if none counts memory."""
    v1 = root / "memory"
    now, peak, stat = (root / f"memory.{name}" for name in ("current", "peak", "stat"))
    v1_now, v1_peak = (v1 / f"memory.{name}" for name in ("usage_in_bytes", "max_usage_in_bytes"))
    known = (
        CgroupFiles("v2", now, peak, stat, "file", "shmem"),
        CgroupFiles("v1", v1_now, v1_peak, v1 / "memory.stat", "total_cache", "total_shmem"),
    )
    return next((files for files in known if files.usage.exists()), None)


class CgroupReader(MemoryReader):
    """A container's use: what its control group is charged, less file cache, plus mapped files.

    The kernel charges a cached file to whichever group read it first, possibly one long gone, so
    the first container on a machine would seem to need hundreds of MB of libraries more than the
    next. Therefore the cache is taken off, and the file pages that the runner itself maps
    (RssFile) are added. A container cannot reset the kernel's peak, which holds cache. So the peak
    is the highest of three numbers that may miss some of it but do not exceed it: the runner's own
    VmHWM; the kernel's peak, if it rose or could be reset, less the most cache seen; and readings.
    Mapped files that another group was charged for do not count under this one's limit: a number
    beyond it gives way to the kernel's peak, which holds all that counts there.
    """

    def __init__(
        self,
        files: CgroupFiles,
        resident: ResidentReader,
        peak: KernelPeak,
        limit_bytes: int | None = None,
    ) -> None:
        self._files = files
        self._resident = resident
        self._peak = peak
        self._limit_bytes = limit_bytes
        self._began = self._read()

    @property
    def method(self) -> str:
        counted = (
            f"cgroup {self._files.version}, without file cache, with the runner's mapped files"
        )
        peak = "peak: highest of VmHWM, the kernel's peak if it rose, and samples, within its limit"
        return f"{counted}; {peak}; average of samples"

    def current_bytes(self) -> int:
        usage, cache, mapped = self._read()
        return usage - cache + mapped

    def counted(self, use_bytes: int) -> int:
        if self._limit_bytes is None or use_bytes <= self._limit_bytes:
            return use_bytes
        return min(self._limit_bytes, self._peak.highest_bytes() or self._limit_bytes)

    def begin(self) -> None:
        self._resident.begin()
        self._peak.begin()
        self._began = self._read()

    def peak_bytes(self) -> int:
        own, charged = self._resident.peak_bytes(), self._peak.risen_bytes()
        if charged is None:
            return own
        (_, *before), (_, *now) = self._began, self._read()
        return max(own, charged - max(before[0], now[0]) + min(before[1], now[1]))

    def _read(self) -> tuple[int, int, int]:
        """The charge, the cache in it, and the files that the runner maps."""
        usage = int(self._files.usage.read_bytes())
        stat = dict(line.split() for line in self._files.stat.read_text().splitlines())
        cache = int(stat[self._files.file_cache]) - int(stat[self._files.shared])
        return usage, min(cache, usage), self._resident.mapped_file_bytes()
