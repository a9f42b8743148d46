"""Progress as JSON lines on stdout, read by the orchestrator."""

import json
import os
import signal
import sys
import threading
from typing import TextIO

from runner.contract.record import Phase, Status


class Progress:
    """Writes one line per event. The orchestrator derives deadlines from them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def phase(self, phase: Phase, cell_id: str | None = None) -> None:
        """A phase begins; loading belongs to no cell."""
        self._write(event="phase", phase=phase, cell_id=cell_id)

    def recorded(self, cell_id: str, status: Status) -> None:
        """A cell's record lies in the output folder."""
        self._write(event="recorded", cell_id=cell_id, status=status)

    def visited(self, cell_id: str) -> None:
        """A round of the cell is over, and its part lies in the output folder."""
        self._write(event="visited", cell_id=cell_id)

    def _write(self, **event: str | None) -> None:
        self._stream.write(json.dumps(event) + "\n")
        self._stream.flush()


def claim_stdout() -> TextIO:
    """Keep stdout for progress; whatever else prints there, native code too, goes to stderr."""
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return ours


def die_with_parent() -> None:
    """From now on, end this process as soon as its stdin is closed."""
    threading.Thread(target=_die_at_end_of_stdin, daemon=True).start()


def _die_at_end_of_stdin() -> None:
    # Not through sys.stdin, whose lock this thread would hold while Python ends: that aborts.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
