"""Files and folders that a command was asked for: they appear whole or not at all."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from orchestrator.errors import MatrixError
from orchestrator.pipes import is_disk, is_stream, streaming
from orchestrator.whole_files import storing
from runner.whole_files import whole_file

HINT = "see that the folder can be written and the disk is not full; nothing is left behind"


def require_free(option: str, path: Path, *, force: bool, database: Path) -> None:
    """Insist that this file may be written, before anything is done for it.

    Pipes and devices may be: nothing in them is replaced.

    Raises:
        MatrixError: it exists and `force` does not allow to replace it, it is a folder, a disk, or
            the very database that is read.
    """
    if path.is_dir() or is_disk(path):
        what = "a folder" if path.is_dir() else "a disk"
        raise MatrixError(f"{option} {path}: is {what}", hint="name a file")
    if path.resolve() == database.resolve():
        raise MatrixError(f"{option} {path}: is the database itself", hint="name another file")
    if not is_stream(path):
        _require_absent(option, path, force=force)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when everything is in it; pipes and devices get what comes.

    Raises:
        StoreError: the file system refused; what was there before is as it was.
    """
    if is_stream(path):
        with streaming(path) as file:
            yield file
        return
    with storing(path, hint=HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            yield file


def require_free_folder(
    option: str, path: Path, *, force: bool, ours: Callable[[Path], bool]
) -> None:
    """Insist that this folder may be written; `ours` tells whether a file in it may go.

    Raises:
        MatrixError: it exists and `force` does not allow to replace it, holds something else, or
            is a file.
    """
    _require_absent(option, path, force=force)
    if not path.is_dir():
        if path.exists():
            raise MatrixError(f"{option} {path}: is a file", hint="name a folder")
        return
    files = (file for file in path.rglob("*") if file.is_symlink() or not file.is_dir())
    strange = next((file for file in files if not ours(file.relative_to(path))), None)
    if strange is not None:
        raise MatrixError(
            f"{option} {path}: holds {strange.relative_to(path)}, which no export made",
            hint="name another folder; `--force` replaces earlier exports alone",
        )


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that gets its name when everything is in it; what stood there goes then.

    Raises:
        StoreError: the file system refused; what was there before is as it was.
    """
    path = path.resolve()
    unfinished, old = (path.with_name(f".{path.name}.{end}") for end in ("tmp", "old"))
    try:
        with storing(path, hint=HINT):
            _remove(unfinished)
            unfinished.mkdir(parents=True)
            yield unfinished
            _take_place(unfinished, path, old)
    finally:
        with suppress(OSError):
            _remove(unfinished)


def _require_absent(option: str, path: Path, *, force: bool) -> None:
    if not force and (path.exists() or path.is_symlink()):
        raise MatrixError(
            f"{option} {path}: exists already", hint="name another, or replace it with `--force`"
        )


def _take_place(unfinished: Path, path: Path, old: Path) -> None:
    if path.exists():
        _remove(old)
        path.rename(old)
    try:
        unfinished.rename(path)
    except BaseException:
        if old.exists():
            old.rename(path)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
