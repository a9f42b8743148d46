"""Stand-ins at the seams of memory: a scripted reader, and kernel files in a folder."""

from pathlib import Path
from threading import Event

KIB = 1 << 10
MIB = 1 << 20


class ScriptedReader:
    """Reader of scripted values, which records that it was read."""

    method = "script"
    is_slow = False
    gap = None

    def __init__(self, use: int = 0) -> None:
        self.use = use
        self.peak: int | None = None
        self.begun = 0
        self.was_read = Event()

    def current_bytes(self) -> int:
        use = self.use
        self.was_read.set()
        return use

    def begin(self) -> None:
        self.begun += 1
        self.peak = None

    def peak_bytes(self) -> int | None:
        return self.peak

    def counted(self, use_bytes: int) -> int:
        return use_bytes

    def rise_briefly(self, use: int) -> None:
        """Use that much just until one reading after the next has begun and ended."""
        before, self.use = self.use, use
        for _ in range(2):
            self.was_read.clear()
            self.was_read.wait(10)
        self.use = before


def write_process(folder: Path, rss: int, peak: int, mapped: int) -> Path:
    """Files as in /proc/self; sizes in MiB."""
    folder.mkdir(exist_ok=True)
    fields = {"VmHWM": peak, "VmRSS": rss, "RssFile": mapped}
    lines = [f"{name}:\t{value * KIB} kB\n" for name, value in fields.items()]
    (folder / "status").write_text("".join(["Name:\tpython\n", *lines]))
    return folder


def write_group_v2(folder: Path, usage: int, peak: int, file: int, shmem: int) -> Path:
    """A control group of version 2; sizes in MiB."""
    stat = f"anon 1\nfile {file * MIB}\nkernel 5\nshmem {shmem * MIB}\nfile_mapped 1"
    names = ("memory.current", "memory.peak", "memory.stat")
    return _write(folder, folder, names, usage, peak, stat)


def write_group_v1(folder: Path, usage: int, peak: int, file: int, shmem: int) -> Path:
    """The same of version 1."""
    stat = f"cache 1\nrss 1\nshmem 1\ntotal_cache {file * MIB}\ntotal_shmem {shmem * MIB}"
    names = ("memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.stat")
    return _write(folder, folder / "memory", names, usage, peak, stat)


def _write(
    group: Path, folder: Path, names: tuple[str, str, str], usage: int, peak: int, stat: str
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, (usage * MIB, peak * MIB, stat), strict=True):
        (folder / name).write_text(f"{text}\n")
    return group
