"""Control group of this process, versions 1 and 2: its limits and its use of memory."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner.measure.memory.process import ResidentReader

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
_UNLIMITED = 1 << 60
_RESET = b"0"


@dataclass(frozen=True)
class Throttling:
    """Times that a CPU quota held a control group back, added up since it was made."""

    periods: int
    seconds: float
    """CPU time of its threads."""


def memory_limit_bytes(root: Path = CGROUP_ROOT) -> int | None:
    """The memory limit in bytes; None if there is none."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _read(root / name)
        if text is not None and text != "max" and int(text) < _UNLIMITED:
            return int(text)
    return None


def cpu_limit(root: Path = CGROUP_ROOT) -> float | None:
    """The CPU quota in cores; None if there is none."""
    quota, period = _quota_and_period(root)
    if quota is None or period is None or quota in ("max", "-1"):
        return None
    return int(quota) / int(period)


def cpu_throttling(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUPS) -> Throttling | None:
    """Times that a quota held this process' group back so far; None if no quota is told."""
    for folder in (*_own_folders(root, own), root / "cpu", root):
        lines = (_read(folder / "cpu.stat") or "").splitlines()
        stat = {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}
        if "nr_throttled" in stat:
            microseconds = stat.get("throttled_usec", stat.get("throttled_time", 0) // 1000)
            return Throttling(stat["nr_throttled"], microseconds / 1_000_000)
    return None


def _own_folders(root: Path, own: Path) -> Iterator[Path]:
    """The folders of this process' control groups that may limit CPUs, by `/proc/self/cgroup`."""
    for line in (_read(own) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield root / path.lstrip("/")
        elif "cpu" in controllers.split(","):
            yield root / "cpu" / path.lstrip("/")


def _quota_and_period(root: Path) -> tuple[str | None, str | None]:
    unified = _read(root / "cpu.max")
    if unified is not None:
        quota, period = unified.split()
        return quota, period
    return _read(root / "cpu/cpu.cfs_quota_us"), _read(root / "cpu/cpu.cfs_period_us")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


class KernelPeak:
    """A file with the highest charge so far, which some systems allow to be reset.

    From Linux 6.12 on, writing to memory.peak begins a new peak for readers through the same
    open file (Documentation/admin-guide/cgroup-v2.rst); version 1 takes a zero. Where the
    control group is mounted read-only, as in containers, neither can be.
    """

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file
        self._began_at = self._read()

    def begin(self) -> None:
        """Reset the peak or, where that fails, note it."""
        if self._file is not None and self._file.writable():
            with suppress(OSError):
                self._file.seek(0)
                self._file.write(_RESET)
        self._began_at = self._read()

    def risen_bytes(self) -> int | None:
        """The peak, if it rose since `begin`; else None, also without such a file."""
        peak = self._read()
        if peak is None or self._began_at is None or peak <= self._began_at:
            return None
        return peak

    def _read(self) -> int | None:
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
    file_cache: str
    """Key in `stat` of the page cache, which counts tmpfs and shared memory too."""
    shared: str
    """Key in `stat` of tmpfs and shared memory alone."""


def cgroup_files(root: Path = CGROUP_ROOT) -> CgroupFiles | None:
    """The files of the version that is mounted; None if none counts memory."""
    v1 = root / "memory"
    known = (
        CgroupFiles(
            "v2",
            root / "memory.current",
            root / "memory.peak",
            root / "memory.stat",
            file_cache="file",
            shared="shmem",
        ),
        CgroupFiles(
            "v1",
            v1 / "memory.usage_in_bytes",
            v1 / "memory.max_usage_in_bytes",
            v1 / "memory.stat",
            file_cache="total_cache",
            shared="total_shmem",
        ),
    )
    return next((files for files in known if files.usage.exists()), None)


class CgroupReader:
    """A container's use: what its control group is charged, less file cache, plus mapped files.

    The kernel charges a cached file to whichever group read it first, possibly one long gone, so
    the first container on a machine would seem to need hundreds of MB of libraries more than the
    next. Therefore the cache is taken off, and the file pages that the runner itself maps
    (RssFile) are added. What remains of the charge is anonymous memory, tmpfs and kernel memory.

    A container cannot reset the kernel's peak, as its control group is mounted read-only, and
    that peak holds cache. So the peak is the highest of three numbers that can miss some of it
    but do not exceed it, as long as no cached file is dropped meanwhile:
    the runner's own VmHWM, reset, which knows no kernel memory, tmpfs and child processes;
    the kernel's peak, if it rose or could be reset, less the most cache seen;
    and the readings that the meter takes.
    """

    is_slow = False
    gap = None

    def __init__(self, files: CgroupFiles, resident: ResidentReader, peak: KernelPeak) -> None:
        self._files = files
        self._resident = resident
        self._peak = peak
        self._began = self._read()
        self.method = (
            f"cgroup {files.version}, without file cache, with the runner's mapped files; peak: "
            "highest of VmHWM, the kernel's peak if it rose, and samples; average of samples"
        )

    def current_bytes(self) -> int:
        """The use now."""
        reading = self._read()
        return reading.usage - reading.cache + reading.mapped

    def begin(self) -> None:
        """Reset VmHWM and, where it can be, the kernel's peak."""
        self._resident.begin()
        self._peak.begin()
        self._began = self._read()

    def peak_bytes(self) -> int:
        """The highest use that counters report."""
        own, charged = self._resident.peak_bytes(), self._peak.risen_bytes()
        if charged is None:
            return own
        began, now = self._began, self._read()
        cache, mapped = max(began.cache, now.cache), min(began.mapped, now.mapped)
        return max(own, charged - cache + mapped)

    def _read(self) -> "_Reading":
        usage = int(self._files.usage.read_bytes())
        stat = dict(line.split() for line in self._files.stat.read_text().splitlines())
        cache = int(stat[self._files.file_cache]) - int(stat[self._files.shared])
        return _Reading(usage, min(cache, usage), self._resident.mapped_file_bytes())


@dataclass(frozen=True)
class _Reading:
    usage: int
    cache: int
    mapped: int
