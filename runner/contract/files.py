"""Atomic writes, and hashes of files."""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from runner.contract.errors import RecordNotSaved

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_UNFINISHED = ".{}.tmp"
"""The name of a file while it is being written."""


def unfinished_path(path: Path) -> Path:
    """The path under which a file is written before it gets its name."""
    return path.with_name(_UNFINISHED.format(path.name))


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; what was written there gets its name at the end.

    What has the temporary name already is removed: a link would lead the writer elsewhere.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    unfinished = unfinished_path(path)
    unfinished.unlink(missing_ok=True)
    try:
        yield unfinished
        sync(unfinished)
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for an atomic write: it gets its name when it is complete and synced.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    with atomic_path(path) as unfinished, unfinished.open("wb") as file:
        yield file


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write text (in UTF-8) or bytes atomically.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    with atomic_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def sync(path: Path) -> None:
    """Flush a file, or a folder's names, from the system's cache to the disk.

    Raises:
        OSError: the file system refused.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files that a killed writer has left in this folder."""
    for path in folder.glob(_UNFINISHED.format("*")):
        with suppress(OSError):
            path.unlink()


def save_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write an output file of a job atomically.

    Raises:
        RecordNotSaved: the file system refused, e.g. because the disk is full.
    """
    try:
        with atomic_file(path) as file:
            write(file)
    except OSError as error:
        raise RecordNotSaved(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=f"{_remedy(error)}; `orchestrator run --resume last` measures what is missing",
        ) from error


def _remedy(error: OSError) -> str:
    if error.errno in _FULL:
        return "free some space"
    return "see that the folder can be written and its disk is sound"


def save_text(path: Path, text: str) -> None:
    """Write a text file of a job in UTF-8.

    Raises:
        RecordNotSaved: the file system refused.
    """
    save_file(path, lambda file: file.write(text.encode()))


def hash_files(files: Mapping[str, Path]) -> str:
    """SHA-256 over names and contents of files in this order, in hex."""
    import hashlib

    digest = hashlib.sha256()
    for name, path in files.items():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's content, in hex."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
