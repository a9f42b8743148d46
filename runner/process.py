"""The process of a job: progress on its stdout, and its end when its launcher has gone.

Stdin is a pipe whose other end the launcher holds: at its end a thread kills this process. While
the interpreter shuts down, threads of its own execute no more, and libraries may take seconds to
unload; on Linux the kernel kills this process itself then.
"""

import json
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TextIO

from runner.contract.record.verdict import Phase, Status

_PR_SET_PDEATHSIG = 1


class Progress:
    """Writes one JSON line per event; the orchestrator derives deadlines from them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def phase(self, phase: Phase, cell_id: str | None = None) -> None:
        """Report that a phase begins; loading belongs to no cell."""
        self._write(event="phase", phase=phase, cell_id=cell_id)

    def recorded(self, cell_id: str, status: Status) -> None:
        """Report that a cell's record is in the output folder."""
        self._write(event="recorded", cell_id=cell_id, status=status)

    def visited(self, cell_id: str) -> None:
        """Report that a round of the cell is over and its result is in the output folder."""
        self._write(event="visited", cell_id=cell_id)

    def _write(self, **event: str | None) -> None:
        self._stream.write(json.dumps(event) + "\n")
        self._stream.flush()


def claim_stdout() -> TextIO:
    """Reserve stdout for progress: other output, native code's included, goes to stderr."""
    progress = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return progress


def die_at_end_of_stdin() -> None:
    """Start a thread that kills this process as soon as its stdin is closed."""
    threading.Thread(target=_wait_for_end_of_stdin, daemon=True).start()


def die_with_parent() -> None:
    """End this process when its stdin is closed, or the thread that launched it is gone."""
    parent = os.getppid()
    die_at_end_of_stdin()
    if sys.platform == "linux":
        _ask_kernel()
        if os.getppid() != parent:  # it went before the kernel knew
            os.kill(os.getpid(), signal.SIGKILL)


def _ask_kernel() -> None:
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for_end_of_stdin() -> None:
    # Not sys.stdin.read: Python aborts at its end if a thread still holds the lock of sys.stdin.
    while os.read(sys.stdin.fileno(), 4096):
        _ask_kernel()
    os.kill(os.getpid(), signal.SIGKILL)
