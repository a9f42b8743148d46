"""A stream that cannot be written loses what is written, in whichever thread."""

import io
import logging
import os
import sys
import warnings
from collections.abc import Callable
from errno import EIO, ENOSPC, EPIPE
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from orchestrator.screen.lines import print_note
from orchestrator.screen.streams import LossyStream, after_work, occupy_descriptors


class Broken(io.StringIO):
    """A stream on which every write fails."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self._code = code

    def write(self, text: str) -> int:
        raise OSError(self._code, os.strerror(self._code))

    def flush(self) -> None:
        raise OSError(self._code, os.strerror(self._code))

    def isatty(self) -> bool:
        return True


def _log() -> None:
    logging.getLogger("anything").error("an error")


def _warn() -> None:
    warnings.warn("a warning", stacklevel=1)


def _draw() -> None:
    with Progress(console=Console(stderr=True, force_terminal=True)) as progress:
        progress.update(progress.add_task("a job", total=1), advance=1)


@pytest.mark.parametrize("code", [EPIPE, EIO, ENOSPC])
@pytest.mark.parametrize("write", [lambda: print_note("a note"), _log, _warn, _draw])
@pytest.mark.filterwarnings("default::UserWarning")
def test_nobody_who_writes_on_a_broken_stderr_is_ended(
    monkeypatch: pytest.MonkeyPatch, code: int, write: Callable[[], None]
) -> None:
    monkeypatch.setattr(sys, "stderr", LossyStream.around(Broken(code)))
    write()


def test_a_stream_that_works_is_written() -> None:
    stream = io.StringIO()
    print("text", file=LossyStream.around(stream), flush=True)
    assert stream.getvalue() == "text\n"


def test_a_disk_that_is_full_behind_a_result_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(ENOSPC))
    with pytest.raises(OSError, match="No space left"), after_work():
        sys.stdout.write("a table")


def test_closed_descriptors_are_taken() -> None:
    kept = os.dup(0)
    os.close(0)
    try:
        occupy_descriptors()
        assert os.fstat(0).st_rdev == Path(os.devnull).stat().st_rdev
    finally:
        os.dup2(kept, 0)
        os.close(kept)
