"""One run at a time on a device: a lock file each, which dies with its owner."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

FOLDER_VARIABLE = "ACCELMATRIX_LOCKS"
Waiting = Callable[[str, str], None]
"""Called once with the device and its holder before waiting for it."""


@contextmanager
def hold_devices(
    devices: frozenset[str], holder: str, waiting: Waiting, folder: Path | None = None
) -> Iterator[None]:
    """Hold the locks of these devices, waiting for whoever holds one.

    They are taken in alphabetical order, so that two runs cannot wait for each other.
    """
    folder = folder or _shared_folder()
    with ExitStack() as stack:
        for device in sorted(devices):
            stack.enter_context(_hold(folder, device, holder, waiting))
        yield


@contextmanager
def _hold(folder: Path, device: str, holder: str, waiting: Waiting) -> Iterator[None]:
    lock = FileLock(folder / f"{device}.lock", mode=0o666)
    note = folder / f"{device}.holder"
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting(device, _read(note))
        lock.acquire()
    try:
        _write(note, f"{holder}, process {os.getpid()}")
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _shared_folder() -> Path:
    """A folder that all users of this host share."""
    configured = os.environ.get(FOLDER_VARIABLE)
    folder = Path(configured) if configured else Path(tempfile.gettempdir()) / "accelmatrix-locks"
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    return folder


def _read(note: Path) -> str:
    try:
        return note.read_text("utf-8")
    except OSError:
        return "another run"


def _write(note: Path, text: str) -> None:
    note.unlink(missing_ok=True)
    note.write_text(text, "utf-8")
