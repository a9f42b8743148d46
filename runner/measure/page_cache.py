"""The kernel's cache of files: dropping some from it, and how much of them stays there.

`posix_fadvise` with POSIX_FADV_DONTNEED needs no rights beyond reading the file. It leaves pages
that some process has mapped, and does nothing on file systems that lie in memory. Since Linux 5.2,
mincore(2) calls all pages resident to callers who neither own the file nor may write it.
"""

import ctypes
import mmap
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_WRITTEN_BACK_S = 120
"""Age of a file whose pages the kernel has written: it does so after half a minute. To ask
for it costs a flush of the disk for each file."""
_FAILED = ctypes.c_void_p(-1).value  # the result of mmap(2) in place of an address


class PageCache:
    """Drops files from the page cache, where the system can."""

    @property
    def can_drop(self) -> bool:
        return hasattr(os, "posix_fadvise")

    def drop(self, files: Iterable[str]) -> None:
        """Let the kernel forget the pages of these files; those that are gone are passed over."""
        for path in files:
            with suppress(OSError):
                _drop(path)

    def resident_share(self, files: Iterable[str]) -> float | None:
        """Share of the files' pages that are in memory; None where most are hidden."""
        if not self.can_drop:
            return None
        resident = known = pages = 0
        for path in files:
            with suppress(OSError):
                present, length = _resident_pages(path)
                pages += length
                # The kernel tells the owner, and those who may write the file.
                is_owner = Path(path).stat().st_uid == os.geteuid()
                if is_owner or os.access(path, os.W_OK, effective_ids=True):
                    resident, known = resident + present, known + length
        return resident / known if known and 2 * known >= pages else None


def _drop(path: str) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        if time.time() - os.fstat(file).st_mtime < _WRITTEN_BACK_S:
            with suppress(OSError):
                os.fdatasync(file)  # a page that is not written yet stays
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def _resident_pages(path: str) -> tuple[int, int]:
    """Pages in memory, and all pages."""
    file = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        if not size:
            return 0, 0
        library = _libc()
        address = library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), "mmap", path)
        try:
            pages = -(-size // mmap.PAGESIZE)
            states = (ctypes.c_ubyte * pages)()
            if library.mincore(address, size, states):
                raise OSError(ctypes.get_errno(), "mincore", path)
            return sum(state & 1 for state in states), pages
        finally:
            library.munmap(address, size)
    finally:
        os.close(file)


@cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    integers = (ctypes.c_int,) * 3
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *integers, ctypes.c_long)
    library.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library
