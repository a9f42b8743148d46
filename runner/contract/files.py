"""Atomic writes, hashes of files, and reading of files that others wrote.

A job, an image, a bundle or a folder from elsewhere can put anything where a file is expected: a
link to a file of the host, a FIFO on which reading never ends, a device, a file of many gigabytes.
So these are opened only if they are plain, have one name and a bounded size. What the user names
may have more names: uv, pip and conda link the files of a package to those of their cache.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

from runner.contract.errors import DamagedFile, RecordNotSaved

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_UNFINISHED = ".{}.tmp"


def unfinished_path(path: Path) -> Path:
    """The path under which a file is written before it gets its name."""
    return path.with_name(_UNFINISHED.format(path.name))


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; what was written there gets its name at the end.

    What has the temporary name already is removed: a link would lead the writer elsewhere.
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
    """Open a file for an atomic write: it gets its name when it is complete and synced."""
    with atomic_path(path) as unfinished, unfinished.open("wb") as file:
        yield file


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write text (in UTF-8) or bytes atomically."""
    with atomic_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def sync(path: Path) -> None:
    """Flush a file, or a folder's names, from the system's cache to the disk."""
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
    """Write an output file of a job atomically, or raise `RecordNotSaved`."""
    try:
        with atomic_file(path) as file:
            write(file)
    except OSError as error:
        remedy = "see that the folder can be written and its disk is sound"
        if error.errno in _FULL:
            remedy = "free some space"
        raise RecordNotSaved(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=f"{remedy}; `orchestrator run --resume last` measures what is missing",
        ) from error


def save_text(path: Path, text: str) -> None:
    """Write a text file of a job in UTF-8."""
    save_file(path, lambda file: file.write(text.encode()))


def hash_files(files: Mapping[str, Path]) -> str:
    """SHA-256 over names and contents of files in this order, in hex."""
    digest = hashlib.sha256()
    for name, path in files.items():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


RECORD_BYTES = 64 << 20  # most bytes of a record, or of a round's result
TABLE_BYTES = 1 << 30  # most bytes of a file of many records that is read as a whole
STREAM_BYTES = 1 << 40
"""Most bytes of a file that is read a bit at a time: records to merge, a bundle, a graph."""
TEXT_BYTES = 1 << 20  # most bytes of a text that a job leaves: a log, a reason

_PART_BYTES = 64 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}
_REFUSED_KINDS: Mapping[int | None, int] = {
    errno.ELOOP: stat.S_IFLNK,
    errno.EMLINK: stat.S_IFLNK,
    errno.ENXIO: stat.S_IFSOCK,
}
"""Kinds by the errors of opening them with these flags; FreeBSD's of a link is the second."""


@contextmanager
def open_plain(path: Path, most_bytes: int, *, is_named: bool = False) -> Iterator[BufferedReader]:
    """Open a plain file for reading; nothing else is opened, followed or waited for.

    The file that was looked at is the one that is read, whatever its name means by then. Links in
    the folders above it are followed: those are for the caller to know. If the user named it or its
    folder, it may have more names than one.

    Raises:
        OSError: it does not exist or may not be read.
        DamagedFile: it is no plain file, has more than one name, or more than `most_bytes` bytes.
    """
    with (
        _plain_handle(path, most_bytes, is_named=is_named) as (handle, _),
        os.fdopen(handle, "rb", closefd=False) as file,
    ):
        yield file


def read_plain(path: Path, most_bytes: int, *, is_named: bool = False) -> bytes:
    with _plain_handle(path, most_bytes, is_named=is_named) as (handle, size):
        content = os.read(handle, size + 1)
        # It may change meanwhile, or be longer than one call reads.
        while len(content) != size and (left := most_bytes + 1 - len(content)) > 0:
            if not (part := os.read(handle, min(left, _PART_BYTES))):
                break
            content += part
    if len(content) > most_bytes:
        raise _too_large(len(content), most_bytes)
    return content


def read_plain_text(path: Path, most_bytes: int = TEXT_BYTES) -> str:
    """The text of a plain file; bytes that are not UTF-8 become U+FFFD."""
    return read_plain(path, most_bytes).decode("utf-8", "replace")


def plain_fault(path: Path, most_bytes: int) -> str | None:
    """The reason why a path is not a plain file of that size, or None; the file is not opened."""
    try:
        _require_plain(path.lstat(), most_bytes)
    except DamagedFile as damaged:
        return str(damaged)
    return None


def plain_size(path: Path) -> int:
    status = path.lstat()
    _require_plain(status, STREAM_BYTES)
    return status.st_size


def is_plain(path: Path, most_bytes: int) -> bool:
    try:
        return plain_fault(path, most_bytes) is None
    except OSError:
        return False


@contextmanager
def _plain_handle(path: Path, most_bytes: int, *, is_named: bool) -> Iterator[tuple[int, int]]:
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _REFUSED_KINDS:
            raise _wrong_kind(_REFUSED_KINDS[error.errno]) from error
        raise
    try:
        status = os.fstat(handle)
        _require_plain(status, most_bytes, is_named=is_named)
        yield handle, status.st_size
    finally:
        os.close(handle)


def _require_plain(status: os.stat_result, most_bytes: int, *, is_named: bool = False) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _wrong_kind(stat.S_IFMT(status.st_mode))
    if status.st_nlink != 1 and not is_named:
        raise DamagedFile(f"has {status.st_nlink} names (hard links); one is allowed")
    if status.st_size > most_bytes:
        raise _too_large(status.st_size, most_bytes)


def _wrong_kind(kind: int) -> DamagedFile:
    return DamagedFile(f"is {_KINDS.get(kind, 'something else')}, not a plain file")


def _too_large(size: int, most_bytes: int) -> DamagedFile:
    return DamagedFile(f"has {size:,} bytes; at most {most_bytes:,} are allowed")
