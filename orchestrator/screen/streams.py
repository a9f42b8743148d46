"""Standard streams that end no work: closed, full or broken, they lose what is written."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from runner.contract.errors import UsageError

_GONE = frozenset({errno.EPIPE, errno.EIO})
"""Errors of a pipe whose reader has gone, and of a terminal that was closed."""


def occupy_descriptors() -> None:
    """Lead the descriptors of closed standard streams to the null device.

    The next file to be opened, a database for one, would get their numbers, and with them all that
    libraries print.
    """
    descriptor = 0
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def open_stream(stream: TextIO | None) -> TextIO:
    """The stream, losing what its encoding lacks; the null device in place of a closed one."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
    return stream


class LossyStream:
    """A text stream for progress and errors, whose own errors are nobody's concern.

    Whoever writes to it, in any thread, goes on: also libraries, warnings and logs.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @classmethod
    def around(cls, stream: TextIO) -> TextIO:
        return cast("TextIO", cls(stream))

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def discard(stream: TextIO) -> None:
    """Lead the stream to the null device, so that Python's own last flush succeeds."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


@contextmanager
def after_work() -> Iterator[None]:
    """Print what work has come to: a reader who has gone meanwhile makes nothing undone."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _GONE:
            raise
        discard(sys.stdout)


def require_printable(form: str) -> None:
    """Refuse formats that a terminal cannot show.

    Raises:
        UsageError: stdout is a terminal, and the format is binary.
    """
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "--format parquet: binary output cannot be written to a terminal",
            hint="name a file with `--output`, or send it through a pipe",
        )
