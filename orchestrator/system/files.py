"""Files of the orchestrator, written whole or not at all."""

import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from runner.contract import files as whole_files
from runner.contract.errors import MatrixError, StoreError
from runner.contract.files import whole_file

RESUME = "mend that; `orchestrator run --resume last` measures what is missing"


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    whole_files.write_whole(path, lambda file: file.write(text.encode()))


@contextmanager
def storing(path: Path, deed: str = "written", hint: str = RESUME) -> Iterator[None]:
    """Say in one line what could not be read or written, e.g. because the disk is full.

    Raises:
        StoreError: the file system refused.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be {deed}: {error.strerror or error}",
            hint=hint,
        ) from error


HINT = "see that it takes everything; what was written so far went there"
_STDOUT = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
_OPEN = ("/dev/std", "/dev/fd/", "/proc/self/fd/")
"""Names of what the process was started with, which may well be a file."""


def is_stdout(path: Path | None) -> bool:
    """Whether this stands for what commands print to."""
    return str(path) in _STDOUT


def is_stream(path: Path) -> bool:
    """Whether this is stdout, a pipe, a device, or anything else that is not replaced."""
    if is_stdout(path) or str(path.absolute()).startswith(_OPEN):
        return True
    mode = _mode(path)
    return mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_disk(path: Path) -> bool:
    """Whether this is a device that holds files."""
    mode = _mode(path)
    return mode is not None and stat.S_ISBLK(mode)


def require_no_stream(option: str, path: Path) -> None:
    """Insist that what is made there can be given its name when it is whole.

    Raises:
        MatrixError: it is stdout, a pipe or a device.
    """
    if is_stream(path):
        raise MatrixError(
            f"{option} {path}: is a stream, and this needs a place on disk",
            hint="name a file or folder",
        )


@contextmanager
def streaming(path: Path) -> Iterator[IO[bytes]]:
    """Write to it as it comes. A reader who has had enough is for the command's boundary.

    Raises:
        StoreError: it cannot be written.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        with _stdout() if is_stdout(path) else path.open("wb") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}", hint=HINT
        ) from error


@contextmanager
def _stdout() -> Iterator[IO[bytes]]:
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


HINT_OUTPUTS = "see that the folder can be written and the disk is not full; nothing is left behind"


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
    with storing(path, hint=HINT_OUTPUTS):
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
        with storing(path, hint=HINT_OUTPUTS):
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
