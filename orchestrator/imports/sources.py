"""The files that an import is asked to look at."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.errors import MatrixError


def files_in(paths: Sequence[Path], without: Sequence[Path] = ()) -> list[Path]:
    """The files under these paths, in order, each once.

    Folders are searched to the bottom; hidden files and folders below them are left out, and
    links to folders are not followed. A folder that cannot be listed stands for what is in it.

    Raises:
        MatrixError: a path does not exist.
    """
    left_out = {os.path.realpath(path) for path in without}
    found = dict.fromkeys(file for path in paths for file in _files_below(path))
    return [file for file in found if not left_out or os.path.realpath(file) not in left_out]


def link_to(path: Path, roots: Sequence[Path]) -> Path | None:
    """The link by which a file was reached: itself, or the named folder above it."""
    way = (path, *(root for root in roots if root == path or root in path.parents))
    return next((step for step in way if step.is_symlink()), None)


def _files_below(path: Path) -> Iterator[Path]:
    if not os.path.lexists(path):
        raise MatrixError(f"{path}: no such file or folder", hint="name what is to be imported")
    if not path.is_dir():
        yield path
        return
    unlisted: list[Path] = []
    for folder, folders, names in os.walk(
        path, onerror=lambda error: unlisted.append(Path(error.filename))
    ):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))
    yield from unlisted
