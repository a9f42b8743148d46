"""Output files and folders of commands: atomic writes, streams, and errors of the file system."""

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from runner.contract.errors import StoreError, UsageError
from runner.contract.files import atomic_file

RESULTS_FOLDER = Path("results")
DATABASE_NAME = "benchmarks.duckdb"
SNAPSHOTS_FOLDER = "snapshots"
"""The folder below the results in which snapshots of the database lie."""
IMPORTS_FOLDER = "imports"
"""The folder of imports' records, beside those of runs."""
PACKED_IMPORTS = "packed.parquet"
"""The file there with the records of many imports."""
REMEDY = "{remedy}"
"""Stands in a hint for what helps against an error of the file system."""
OUTPUT_HINT = f"{REMEDY}; nothing is left behind"
_RESUME_HINT = f"{REMEDY}, then `orchestrator run --resume last`"
_HALF_MADE = ".half-made"
_STREAM_HINT = f"{REMEDY}; what was written so far went there"
_SPACE = "free some space on its disk"
_OWNER = "see its owner and mode, or name another place"
_IN_THE_WAY = "move away what is in its place"
_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: f"{_SPACE}: your quota is used up",
    errno.EFBIG: f"{_SPACE}, or raise the limit of file sizes, `ulimit -f`",
    errno.EACCES: _OWNER,
    errno.EPERM: _OWNER,
    errno.EROFS: "its file system is read-only: name another place",
    errno.EEXIST: _IN_THE_WAY,
    errno.EISDIR: _IN_THE_WAY,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EIO: "see that its disk is sound",
    errno.EMFILE: "raise the limit of open files, `ulimit -n`",
    errno.ENFILE: "raise the limit of open files of this machine",
}
_OTHERWISE = "see that it can be written and the disk is not full"
_STDOUT = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/self/fd/")
"""Names of what the process was started with, which may well be a file."""


def database_option(database: Path) -> list[str]:
    """The option that names this database; none for the usual one."""
    if database == RESULTS_FOLDER / DATABASE_NAME:
        return []
    if database.name == DATABASE_NAME:
        return ["--results", str(database.parent)]
    return ["--database", str(database)]


def predictor_folder(database: Path) -> Path:
    """The folder in which the predictor of a database lies."""
    return database.with_name(f"{database.name}.predictor")


@contextmanager
def translate_os_errors(
    path: Path, problem: str = "cannot be written", hint: str = _RESUME_HINT
) -> Iterator[None]:
    """Turn an error of the file system, but for a broken pipe, into one that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{path}: {problem}: {error.strerror or error}"
        raise StoreError(message, hint=file_hint(error, hint)) from error


def file_hint(error: Exception, hint: str = REMEDY) -> str:
    """The hint with the remedy for this error: of the file system, or of who quotes it."""
    code = getattr(error, "errno", None)
    if code is None:
        text = str(error)
        code = next((code for code in _REMEDIES if os.strerror(code) in text), None)
    return hint.replace(REMEDY, _REMEDIES.get(code or 0, _OTHERWISE))


def is_stdout(path: Path | None) -> bool:
    return str(path) in _STDOUT


def is_stream(path: Path) -> bool:
    """True for stdout, a pipe, a device, or anything else that a file cannot replace."""
    if is_stdout(path) or str(path.absolute()).startswith(_OPEN_FILES):
        return True
    mode = _mode(path)
    return mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_disk(path: Path) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISBLK(mode)


def require_no_stream(option: str, path: Path) -> None:
    if is_stream(path):
        raise UsageError(
            f"{option} {path}: is a stream; a file or folder on disk is needed",
            hint="name a file or folder",
        )


def require_free(option: str, path: Path, *, force: bool, database: Path) -> None:
    """Refuse an output that must not be replaced, before any work is done for it."""
    if path.is_dir() or is_disk(path):
        kind = "a folder" if path.is_dir() else "a disk"
        raise UsageError(f"{option} {path}: is {kind}", hint="name a file")
    if path.resolve() == database.resolve():
        raise UsageError(f"{option} {path}: is the database itself", hint="name another file")
    if not is_stream(path):
        _require_absent(option, path, force=force)


def require_free_folder(
    option: str, path: Path, *, force: bool, is_export: Callable[[Path], bool]
) -> None:
    """Refuse an output folder that holds anything but earlier exports."""
    _require_absent(option, path, force=force)
    if not path.is_dir():
        if path.exists():
            raise UsageError(f"{option} {path}: is a file", hint="name a folder")
        return
    files = (file for file in path.rglob("*") if file.is_symlink() or not file.is_dir())
    foreign = next((file for file in files if not is_export(file.relative_to(path))), None)
    if foreign is not None:
        raise UsageError(
            f"{option} {path}: holds {foreign.relative_to(path)}, which no export made",
            hint="name another folder; `--force` replaces earlier exports alone",
        )


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """Open an output: a file is written whole or not at all, a pipe or device directly."""
    if is_stream(path):
        with translate_os_errors(path, hint=_STREAM_HINT):
            if is_stdout(path):
                sys.stdout.flush()
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
            else:
                with path.open("wb") as file:
                    yield file
        return
    with translate_os_errors(path, hint=OUTPUT_HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            yield file


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, which replaces `path` at the end."""
    path = path.resolve()
    unfinished, old = (path.with_name(f".{path.name}.{end}") for end in ("tmp", "old"))
    try:
        with translate_os_errors(path, hint=OUTPUT_HINT):
            _remove(unfinished)
            unfinished.mkdir(parents=True)
            yield unfinished
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
    finally:
        with suppress(OSError):
            _remove(unfinished)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, which gets its name at the end; OSError if there is one already."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_HALF_MADE}")
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(path)
    finally:
        _remove(unfinished)


def remove_half_made(parent: Path) -> None:
    """Remove the temporary folders here of processes that were killed while making them."""
    import psutil

    for path in parent.glob(f".*.*{_HALF_MADE}"):
        pid = path.suffixes[-2].removeprefix(".")
        if not (pid.isdigit() and psutil.pid_exists(int(pid))):
            _remove(path)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _require_absent(option: str, path: Path, *, force: bool) -> None:
    if not force and (path.exists() or path.is_symlink()):
        raise UsageError(
            f"{option} {path}: exists already", hint="name another, or replace it with `--force`"
        )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
