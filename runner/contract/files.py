"""Files that appear whole or not at all."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from runner.contract.errors import RecordNotSaved

UNFINISHED = ".{}.tmp"
"""The name that a file goes by until everything is in it."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when everything is in it and synced.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    unfinished = path.with_name(UNFINISHED.format(path.name))
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill such a file.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    with whole_file(path) as file:
        write(file)


def drop_unfinished(folder: Path) -> None:
    """Remove the files of this folder that a killed writer has left under their other names."""
    for path in folder.glob(UNFINISHED.format("*")):
        with suppress(OSError):
            path.unlink()


def save_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write what was measured.

    Raises:
        RecordNotSaved: the file system refused, e.g. because the disk is full.
    """
    try:
        write_whole(path, write)
    except OSError as error:
        raise RecordNotSaved(
            f"{path}: cannot be written: {error.strerror or error}",
            hint="free some space; `orchestrator run --resume last` measures what is missing",
        ) from error


def save_text(path: Path, text: str) -> None:
    """Write what was said about it, in UTF-8.

    Raises:
        RecordNotSaved: likewise.
    """
    save_whole(path, lambda file: file.write(text.encode()))


def hash_of(root: Path, files: Iterable[Path]) -> str:
    """SHA-256 over names and contents of files in this order, in hex; paths start from `root`."""
    digest = hashlib.sha256()
    for path in files:
        content = (root / path).read_bytes()
        digest.update(f"{path.as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of the file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
