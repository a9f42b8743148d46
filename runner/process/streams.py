"""Streams of a job's process: progress as JSON lines on stdout, all else on stderr."""

import json
import os
import sys
from typing import TextIO

from runner.contract.record.verdict import Phase, Status


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
