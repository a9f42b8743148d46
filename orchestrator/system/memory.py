"""Memory of this process: a limit of it, and a temporary folder for what does not fit."""

import atexit
import fcntl
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_STATUS, _DATA_PAGES = Path("/proc/self/statm"), 5
"""The sizes of this process in pages, and the place of the one that the limit is about."""


@contextmanager
def limited_growth(most_bytes: int) -> Iterator[None]:
    """On Linux, raise MemoryError where this process takes more than this beside what it has."""
    if not _STATUS.exists():
        yield
        return
    has_bytes = int(_STATUS.read_text().split()[_DATA_PAGES]) * resource.getpagesize()
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [has_bytes + most_bytes, *(n for n in (before, hard) if n != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


_PREFIX = "accelmatrix-query-"


@cache
def spill_folder() -> Path | None:
    """This process's folder, closed to other users; None where nothing temporary can be written.

    It goes at the process's end. A killed process leaves its folder to the next one that asks for
    one: whoever holds the lock on a folder is alive.
    """
    import tempfile

    with suppress(OSError):
        _remove_left(Path(tempfile.gettempdir()))
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with suppress(FileNotFoundError):  # another process took it for one that was left
                if _lock(folder) is not None and folder.exists():
                    atexit.register(remove_spill_folder)
                    return folder
    return None


def remove_spill_folder() -> None:
    if spill_folder.cache_info().currsize and (folder := spill_folder()):
        shutil.rmtree(folder, ignore_errors=True)
    spill_folder.cache_clear()


def _remove_left(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and (lock := _lock(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """An open handle that holds the folder's lock; None if somebody else holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
