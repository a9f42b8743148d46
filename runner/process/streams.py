"""Streams of a job's process: progress as JSON lines on stdout, and stdin as parent watch."""

import json
import os
import signal
import sys
import threading
from typing import TextIO

from runner.contract.record import Phase, Status


class Progress:
    """Writes one line per event; the orchestrator derives deadlines from them."""

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


def die_with_parent() -> None:
    """Start a thread that kills this process as soon as its stdin is closed."""
    threading.Thread(target=_die_at_end_of_stdin, daemon=True).start()


def _die_at_end_of_stdin() -> None:
    # Not sys.stdin.read: Python aborts at its end if a thread still holds the lock of sys.stdin.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
