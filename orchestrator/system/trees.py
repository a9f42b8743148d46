"""Folders that jobs wrote: whom they belong to, and their removal, whatever lies in them.

Links are never followed, and folders that nest deeper than the longest path harm nothing.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ALL_OF_OURS = 0o700
_PERMISSIONS = 0o777


def give_tree(folder: Path, uid: int, gid: int) -> None:
    """Give a folder with all in it to a user; files lose what lets others act as their owner."""
    os.chown(folder, uid, gid, follow_symlinks=False)
    for entry in _entries(folder):
        with suppress(OSError):
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) and stat.S_IMODE(mode) & ~_PERMISSIONS:
                Path(entry.path).chmod(stat.S_IMODE(mode) & _PERMISSIONS)
            os.chown(entry.path, uid, gid, follow_symlinks=False)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all in it; what refuses to go stays.

    Folders are emptied at the top, where the ones inside them are moved first: so their depth
    makes no difference.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    number, pending = 0, [folder]
    with suppress(OSError):
        while pending:
            current = pending.pop()
            current.chmod(_ALL_OF_OURS)
            for entry in list(os.scandir(current)):
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry.path).unlink()
                    continue
                number += 1
                moved = folder / f".removed-{number}"
                Path(entry.path).chmod(_ALL_OF_OURS)
                Path(entry.path).rename(moved)
                pending.append(moved)
            if current != folder:
                current.rmdir()
        folder.rmdir()


def tree_size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; what goes away meanwhile counts nothing."""
    sizes = [0]
    with suppress(OSError):
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
    for entry in _entries(path):
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                sizes.append(entry.stat(follow_symlinks=False).st_size)
    return sum(sizes)


def remove_entry(path: Path) -> None:
    """Remove whatever has this name, a link itself and not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    pending = [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                yield entry
