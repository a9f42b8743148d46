"""Folders for what a job's processes keep while they run, and the end of those that outlive it.

A browser is no child that ends with the runner: it has a process group of its own, and whoever
started it must remove its profile. So both are known by the folder that the job got for temporary
files, whose name says which process it belongs to.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from orchestrator.launchers.container import OWNER_LABEL, is_orphan, owner_id

_PREFIX = "accelmatrix-job-"
_PATIENCE_S = 5.0


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for one launch; with the context go all that is in it and all who use it."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{owner_id(os.getpid())}-"))
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_orphaned_scratch() -> int:
    """Remove the folders of this user's orchestrators that are gone; returns how many."""
    folders = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")
    orphans = [folder for folder in folders if _is_orphan(folder)]
    for folder in orphans:
        remove_scratch(folder)
    return len(orphans)


def remove_scratch(folder: Path) -> None:
    """End the programs that have a profile in the folder, then remove it."""
    leaders = [process for process in psutil.process_iter(["cmdline"]) if _uses(process, folder)]
    for leader in leaders:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
    psutil.wait_procs(leaders, timeout=_PATIENCE_S)
    shutil.rmtree(folder, ignore_errors=True)


def _uses(process: psutil.Process, folder: Path) -> bool:
    """True for a browser's first process, which leads the group of the others."""
    words = process.info["cmdline"] or []
    return any(word.startswith(f"--user-data-dir={folder}{os.sep}") for word in words)


def _is_orphan(folder: Path) -> bool:
    """True if it is this user's, and who made it lives no more."""
    owner = folder.name.removeprefix(_PREFIX).rpartition("-")[0]
    if owner == owner_id(os.getpid()):
        return False
    with suppress(OSError):
        return folder.lstat().st_uid == os.getuid() and is_orphan({OWNER_LABEL: owner})
    return False
