"""The folders of a host's orders, and what all orders of a host share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.system.files import translate_os_errors
from orchestrator.system.trees import remove_tree

_LOCK_SUFFIX = ".lock"


def orders_folder() -> Path:
    """The folder of all orders of this user, made if need be.

    Raises:
        StoreError: it cannot be made.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(cache) / "accelmatrix" / "fleet"
    with translate_os_errors(folder, "the orders of a fleet cannot be kept here"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def order_folder(folder: Path, order: str) -> Iterator[None]:
    """Hold the name of an order's folder, and remove the folder in the end.

    What orders left whose process died is removed first: nobody holds their names.
    """
    _remove_dead(folder)
    lock = FileLock(folder / f"{order}{_LOCK_SUFFIX}")
    with lock:
        try:
            yield
        finally:
            remove_tree(folder / order)
            with suppress(OSError):
                Path(lock.lock_file).unlink()


def _remove_dead(folder: Path) -> None:
    for path in folder.glob(f"*{_LOCK_SUFFIX}"):
        with suppress(Timeout, OSError), FileLock(path, timeout=0):
            left = folder / path.name.removesuffix(_LOCK_SUFFIX)
            if left.is_dir():
                remove_tree(left)
            path.unlink()
