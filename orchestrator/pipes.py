"""Outputs that are no files: stdout, pipes and devices. They are written to, and never replaced."""

import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from orchestrator.errors import MatrixError, StoreError

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
