"""Stand-ins at the seams of memory: a scripted reader, and kernel files in a folder."""

from pathlib import Path
from threading import Event

KIB = 1 << 10
MIB = 1 << 20


class ScriptedReader:
    """Reader of scripted values, which records that it was read."""

    method = "script"

    def __init__(self, use: int = 0) -> None:
        self.use = use
        self.peak: int | None = None
        self.begun = 0
        self.was_read = Event()

    def current_bytes(self) -> int:
        """The scripted use."""
        use = self.use
        self.was_read.set()
        return use

    def begin(self) -> None:
        """Forget the peak."""
        self.begun += 1
        self.peak = None

    def peak_bytes(self) -> int | None:
        """The scripted peak."""
        return self.peak

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
    fields = {"Name": "python", "VmHWM": peak, "VmRSS": rss, "RssFile": mapped}
    lines = [
        f"{name}:\t{value * KIB if isinstance(value, int) else value} kB\n"
        for name, value in fields.items()
    ]
    (folder / "status").write_text("".join(lines))
    return folder


def write_group_v2(folder: Path, usage: int, peak: int, file: int, shmem: int) -> Path:
    """A control group of version 2; sizes in MiB."""
    folder.mkdir(exist_ok=True)
    (folder / "memory.current").write_text(f"{usage * MIB}\n")
    (folder / "memory.peak").write_text(f"{peak * MIB}\n")
    (folder / "memory.stat").write_text(
        f"anon 1\nfile {file * MIB}\nkernel 5\nshmem {shmem * MIB}\nfile_mapped 1\n"
    )
    return folder


def write_group_v1(folder: Path, usage: int, peak: int, file: int, shmem: int) -> Path:
    """The same of version 1."""
    memory = folder / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    (memory / "memory.usage_in_bytes").write_text(f"{usage * MIB}\n")
    (memory / "memory.max_usage_in_bytes").write_text(f"{peak * MIB}\n")
    (memory / "memory.stat").write_text(
        f"cache 1\nrss 1\nshmem 1\ntotal_cache {file * MIB}\ntotal_shmem {shmem * MIB}\n"
    )
    return folder
