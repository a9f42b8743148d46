"""Locks of devices: one run at a time, by a lock file that its owner's death releases."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import time

import psutil
from filelock import FileLock, Timeout

from orchestrator.system.files import translate_os_errors
from orchestrator.system.text import format_age

FOLDER_VARIABLE = "ACCELMATRIX_LOCKS"
SHARED_FOLDER = Path("/tmp/accelmatrix-locks")  # noqa: S108 - one for all, whatever TMPDIR says
_PROCESS = ", process "
Waiting = Callable[[str, str], None]
"""Called with the device and its holder before waiting for it, and now and then meanwhile."""
_PATIENCE_S = 60.0
"""Seconds until the holder is told again; each time is twice as long."""


@contextmanager
def hold_devices(
    devices: frozenset[str], holder: str, waiting: Waiting, folder: Path | None = None
) -> Iterator[None]:
    """Hold the locks of these devices, in an order in which no two runs wait for each other."""
    folder = folder or _shared_folder()
    with ExitStack() as stack:
        for device in sorted(devices):
            stack.enter_context(_hold(folder, device, holder, waiting))
        yield


@contextmanager
def _hold(folder: Path, device: str, holder: str, waiting: Waiting) -> Iterator[None]:
    lock = FileLock(folder / f"{device}.lock", mode=0o666)
    note = folder / f"{device}.holder"
    with _translate(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            _wait(lock, partial(waiting, device), note)
    try:
        with suppress(OSError):  # without the note a waiting run cannot name the holder
            note.unlink(missing_ok=True)
            note.write_text(f"{holder}{_PROCESS}{os.getpid()}", "utf-8")
        yield
    finally:
        with suppress(OSError):
            note.unlink()
        lock.release()


def holds_devices(holder: str, folder: Path | None = None) -> bool:
    """True if a living process holds a device under this name; what stands in brackets is none."""
    for note in (folder or _shared_folder()).glob("*.holder"):
        with suppress(OSError, ValueError):
            name, _, process = note.read_text("utf-8").rpartition(_PROCESS)
            if name.partition(" (")[0] == holder and psutil.pid_exists(int(process)):
                return True
    return False


def _wait(lock: FileLock, waiting: Callable[[str], None], note: Path) -> None:
    """Wait for the lock; say who holds it, and since when."""
    patience = _PATIENCE_S
    while not lock.is_locked:
        name = "another run"
        with suppress(OSError):
            age = format_age(time() - note.stat().st_mtime)
            name = f"{note.read_text('utf-8')}, which took it {age}"
        waiting(name)
        with suppress(Timeout):
            lock.acquire(timeout=patience)
        patience *= 2


def _shared_folder() -> Path:
    configured = os.environ.get(FOLDER_VARIABLE)
    folder = Path(configured) if configured else SHARED_FOLDER
    if not folder.is_dir():
        with _translate(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # another user made it a moment ago, and opens it to all
            folder.chmod(0o777)
    return folder


def _translate(folder: Path) -> AbstractContextManager[None]:
    hint = f"name another folder in {FOLDER_VARIABLE}, the same one for all users"
    return translate_os_errors(folder, "device locks cannot be kept here", hint)
