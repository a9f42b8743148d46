"""The kernel's own peak of a control group's memory."""

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

RESET = b"0"


class KernelPeak:
    """A file with the highest charge so far, which may or may not let itself be reset.

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
                self._file.write(RESET)
        self._began_at = self._read()

    def risen_bytes(self) -> int | None:
        """The peak, if it is a new one since `begin`; None else, or without such a file."""
        peak = self._read()
        if peak is None or self._began_at is None or peak <= self._began_at:
            return None
        return peak

    def _read(self) -> int | None:
        if self._file is None:
            return None
        self._file.seek(0)
        return int(self._file.read())


def open_peak(path: Path) -> KernelPeak:
    """Over this file, for writing too where the kernel allows it."""
    for mode in ("r+b", "rb"):
        with suppress(OSError):
            return KernelPeak(path.open(mode, buffering=0))
    return KernelPeak(None)
