"""Memory of the control group, that is of the whole container."""

from dataclasses import dataclass
from pathlib import Path

from runner.measure.cgroup import ROOT
from runner.measure.kernel_peak import KernelPeak
from runner.measure.process_memory import ResidentGauge


@dataclass(frozen=True)
class GroupFiles:
    """Where a version of the interface keeps its numbers."""

    version: str
    usage: Path
    peak: Path
    stat: Path
    file_cache: str
    """Key in `stat` of the page cache, which counts tmpfs and shared memory too."""
    shared: str
    """Key in `stat` of tmpfs and shared memory alone."""


def group_files(root: Path = ROOT) -> GroupFiles | None:
    """The files of the version that is mounted; None where none counts memory."""
    v1 = root / "memory"
    known = (
        GroupFiles(
            "v2",
            root / "memory.current",
            root / "memory.peak",
            root / "memory.stat",
            file_cache="file",
            shared="shmem",
        ),
        GroupFiles(
            "v1",
            v1 / "memory.usage_in_bytes",
            v1 / "memory.max_usage_in_bytes",
            v1 / "memory.stat",
            file_cache="total_cache",
            shared="total_shmem",
        ),
    )
    return next((files for files in known if files.usage.exists()), None)


class GroupGauge:
    """A container's use: what its control group is charged, less file cache, plus mapped files.

    The kernel charges a cached file to whichever group read it first, possibly one long gone, so
    the first container on a machine would seem to need hundreds of MB of libraries more than the
    next. Therefore the cache is taken off, and the file pages that the runner itself maps
    (RssFile) are added. What remains of the charge is anonymous memory, tmpfs and kernel memory.

    A container cannot reset the kernel's peak, as its control group is mounted read-only, and
    that peak holds cache. So the peak is the highest of three numbers that can miss some of it
    but do not exceed it, as long as no cached file is dropped meanwhile:
    the runner's own VmHWM, reset, hence exact for the runner but without kernel memory, tmpfs
    and child processes; the kernel's peak, if it rose or could be reset, less the most cache
    seen; and the readings that the meter takes.
    """

    def __init__(self, files: GroupFiles, resident: ResidentGauge, peak: KernelPeak) -> None:
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
        """The highest use that counters know of."""
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
