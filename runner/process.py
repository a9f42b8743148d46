"""The process of a job: progress on its stdout, orders on its stdin, and its end.

Stdin is a pipe whose other end the launcher holds: a thread passes its lines on, and at its end
kills this process. While the interpreter shuts down, threads of its own execute no more, and
libraries may take seconds to unload; on Linux the kernel kills this process itself then.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
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

    def waits(self, cell_id: str) -> None:
        """Report that the cell is ready and does nothing until it is its turn."""
        self._write(event="waits", cell_id=cell_id)

    def _write(self, **event: str | None) -> None:
        self._stream.write(json.dumps(event) + "\n")
        self._stream.flush()


def claim_stdout() -> TextIO:
    """Reserve stdout for progress: other output, native code's included, goes to stderr."""
    progress = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return progress


Orders = SimpleQueue[str]
"""Lines that the launcher wrote to stdin."""


@dataclass(frozen=True)
class Gate:
    """Lets a job work in its turns alone, while others are loaded beside it."""

    orders: Orders
    progress: Progress

    def turns(self, cell_id: str) -> Iterator[float]:
        """The seconds of each burst that the cell is to take; it ends when there are no more.

        Between them this thread waits for a line, and works for nothing else.
        """
        while True:
            self.progress.waits(cell_id)
            order = json.loads(self.orders.get())
            if (burst_s := order.get("burst_s")) is None:
                return
            yield float(burst_s)


def die_at_end_of_stdin() -> Orders:
    """Start a thread that passes on the lines of stdin, and kills this process at its end."""
    orders = Orders()
    threading.Thread(target=_read_orders, args=[orders], daemon=True).start()
    return orders


def die_with_parent() -> Orders:
    """End this process when its stdin is closed, or the thread that launched it is gone."""
    parent = os.getppid()
    orders = die_at_end_of_stdin()
    if sys.platform == "linux":
        _ask_kernel()
        if os.getppid() != parent:  # it went before the kernel knew
            os.kill(os.getpid(), signal.SIGKILL)
    return orders


def _ask_kernel() -> None:
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _read_orders(orders: Orders) -> None:
    # Not sys.stdin: Python aborts at its end if a thread still holds the lock of sys.stdin.
    begun = b""
    while chunk := os.read(sys.stdin.fileno(), 4096):
        _ask_kernel()
        *lines, begun = (begun + chunk).split(b"\n")
        for line in lines:
            orders.put(line.decode())
    os.kill(os.getpid(), signal.SIGKILL)
