"""The output of a job on its way to the host, in bounded memory and time whatever it prints."""

import time
from collections import deque
from collections.abc import Callable
from queue import Queue
from threading import Event

from runner.contract.processes import TAIL_BYTES

LINE_BYTES = 64 << 10
"""Longest line that is passed on; the rest of a longer one is dropped."""
QUEUED_LINES = 256
"""Lines that wait for their reader; then the job waits, as its own output blocks."""
LINES_PER_S = 2000
"""Lines a second that a job may print on average."""
BYTES_PER_S = 16 << 20
"""Bytes a second that a job may print on average, to each of its streams."""
BURST_S = 10.0
"""Seconds' worth of output that may come at once."""
LAST_LINES_PATIENCE_S = 10.0
"""Seconds that the last output may take to arrive once the runner has ended."""

_Clock = Callable[[], float]


class LineSplitter:
    """Splits chunks of bytes into lines; the time it takes is that of looking at each byte once."""

    def __init__(self, most_bytes: int = LINE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, without their ends."""
        *endings, begin = chunk.split(b"\n")
        lines = [self._end(ending) for ending in endings]
        self._extend(begin)
        return lines

    def rest(self) -> list[bytes]:
        return [line] if (line := self._end(b"")) else []

    def _end(self, piece: bytes) -> bytes:
        self._extend(piece)
        line = bytes(self._begun)
        self._begun.clear()
        return line

    def _extend(self, piece: bytes) -> None:
        self._begun += piece[: self._most_bytes - len(self._begun)]


class LineQueue(Queue[str | None]):
    """A bounded queue of lines, None after the last; what comes after that is dropped."""

    def __init__(self, most_lines: int = QUEUED_LINES) -> None:
        super().__init__(most_lines)
        self.discarding = Event()
        """Set as soon as nobody will read lines any more."""
        self._ended = False

    def discard(self) -> None:
        """Drop the lines that are there and those to come, so that no writer waits for a reader."""
        with self.mutex:
            self.discarding.set()
            self.queue = deque(line for line in self.queue if line is None)
            self.not_full.notify_all()

    def _put(self, item: str | None) -> None:
        # Called by `put` with the mutex held.
        if item is None or not (self._ended or self.discarding.is_set()):
            super()._put(item)
        self._ended = self._ended or item is None


class Pace:
    """The rate to which a stream is held on average, after a burst."""

    def __init__(self, clock: _Clock = time.monotonic) -> None:
        self._clock = clock
        self._paid_until = clock() - BURST_S

    def delay_s(self, cost_s: float) -> float:
        """Seconds to wait after output that was worth so many."""
        now = self._clock()
        self._paid_until = max(self._paid_until, now - BURST_S) + cost_s
        return max(0.0, self._paid_until - now)


class JobOutput:
    """The lines of a job's stdout, and the end of its stderr. Each stream may have a thread."""

    def __init__(self, clock: _Clock = time.monotonic) -> None:
        self.lines = LineQueue()
        self._splitter = LineSplitter()
        self._tail = b""
        self._paces = Pace(clock), Pace(clock)

    @property
    def log(self) -> str:
        return self._tail.decode("utf-8", "replace")

    def take_stdout(self, chunk: bytes) -> None:
        """Queue the lines that end in the chunk; blocks while it comes faster than it may."""
        lines = self._splitter.feed(chunk)
        for line in lines:
            self._put(line)
        self._wait(self._paces[0], len(chunk) / BYTES_PER_S + len(lines) / LINES_PER_S)

    def take_stderr(self, chunk: bytes) -> None:
        """Keep the end; blocks likewise."""
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        self._wait(self._paces[1], len(chunk) / BYTES_PER_S)

    def end(self) -> None:
        for line in self._splitter.rest():
            self._put(line)
        self.lines.put(None)

    def _put(self, line: bytes) -> None:
        self.lines.put(line.decode("utf-8", "replace"))

    def _wait(self, pace: Pace, cost_s: float) -> None:
        self.lines.discarding.wait(pace.delay_s(cost_s))
