"""stdout and stderr as commands write to them: what becomes of them is no bug of ours."""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Stdout(FileIO):
    """Who waits for results is told once that they cannot be written, e.g. to a full disk."""

    _lost = False

    def write(self, data: "ReadableBuffer", /) -> int | None:  # type: ignore[override]
        size = memoryview(data).nbytes
        if self._lost or not size:  # nothing is what typer writes to see whether it may
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            from runner.contract.errors import StoreError

            self._lost = True
            raise StoreError(
                f"stdout: cannot be written: {error.strerror}",
                hint="see that the disk is not full; what was printed is not whole",
            ) from error


class _Stderr(FileIO):
    """What is told by the way is no reason to end."""

    def write(self, data: "ReadableBuffer", /) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return memoryview(data).nbytes


def mend() -> None:
    """Output goes nowhere if its stream is closed, and loses what its encoding lacks."""
    sys.stdout = _mended(sys.stdout, _Stdout)
    sys.stderr = _mended(sys.stderr, _Stderr)


def _mended(stream: TextIO | None, kind: type[FileIO]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    raw = kind(stream.fileno(), "wb", closefd=False)
    return TextIOWrapper(
        # Unbuffered, Python has no more between a text and its file.
        raw if stream.write_through else BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
