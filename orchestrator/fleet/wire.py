"""The host's side of a conversation: messages out, signs of life in both directions."""

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import BinaryIO

from orchestrator.fleet.messages import (
    Beat,
    Cancel,
    ToDriver,
    ToHost,
    encode,
    frame_of,
    message_to_host,
    read_frame,
)
from runner.contract.errors import DamagedFile

_Received = tuple[ToHost, bytes]
"""A message and its body."""


class Wire:
    """The stream to the driver. Each method may be called by any thread."""

    def __init__(self, out: BinaryIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._lock = Lock()
        self._sent_at = clock()
        self.broken = False
        """True once the driver takes no more."""

    def send(self, message: ToDriver, body: bytes = b"") -> None:
        """Send a message; when the driver is gone it is dropped, as `listen` finds that out."""
        content = encode(frame_of(message, body))
        with self._lock:
            try:
                self._out.write(content)
                self._out.flush()
            except (OSError, ValueError):
                self.broken = True
            self._sent_at = self._clock()

    def beat(self, every_s: float, stop: Event) -> None:
        """Send a sign of life whenever nothing was sent for so long, until told to stop."""
        while not stop.wait(every_s):
            if self._clock() - self._sent_at >= every_s:
                self.send(Beat())


class DriverWatch:
    """Listens to the driver, and tells when to end what it wanted."""

    def __init__(
        self,
        stream: BinaryIO,
        silence_s: float,
        end: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A watch that begins with `start`.

        Args:
            stream: the driver's frames.
            silence_s: seconds without a byte after which the driver is gone.
            end: is called once, by another thread, when the program shall end.
            clock: seconds that never go backwards.
        """
        self._stream, self._silence_s, self._end, self._clock = stream, silence_s, end, clock
        self._heard_at = clock()
        self._lock = Lock()
        self._is_armed = False
        self._following: SimpleQueue[_Received | DamagedFile | None] | None = None
        """Takes what comes behind an order, from the thread that listens meanwhile."""
        self.reason: str | None = None
        """The reason to end; None while there is none."""

    def start(self, stop: Event) -> None:
        """Look for silence until told to stop."""
        Thread(target=self._watch, args=(stop,), daemon=True).start()

    def next_message(self) -> _Received | None:
        """The driver's next message, with its body; None if it says no more.

        Raises:
            DamagedFile: it is no message to a host.
        """
        if self._following is None:
            return self._read()
        following, self._following = self._following.get(), None
        if isinstance(following, DamagedFile):
            raise following
        return following

    def listen(self) -> None:
        """Listen to what the driver says during an order, in a thread.

        The program is to end if the driver goes or says so, until `disarm`.
        """
        self._is_armed, self._following = True, SimpleQueue()
        Thread(target=self._listen, args=(self._following,), daemon=True).start()

    def disarm(self) -> None:
        """The order is over: what it left is removed, and the driver may go."""
        with self._lock:
            self._is_armed = False

    def _listen(self, following: "SimpleQueue[_Received | DamagedFile | None]") -> None:
        try:
            while (received := self._read()) and isinstance(received[0], Beat | Cancel):
                if isinstance(received[0], Cancel):
                    self._end_order("the driver has ended the order")
            if received is None:
                self._end_order("the driver is gone")
            following.put(received)
        except (DamagedFile, OSError, ValueError) as error:
            self._end_order(f"the driver cannot be understood: {error}")
            following.put(error if isinstance(error, DamagedFile) else None)

    def _read(self) -> _Received | None:
        frame = read_frame(self._stream, self._note_life)
        return None if frame is None else (message_to_host(frame), frame.body)

    def _watch(self, stop: Event) -> None:
        while not stop.wait(self._silence_s / 10):
            if self._clock() - self._heard_at > self._silence_s:
                with self._lock:
                    self._end_once("the driver is silent")

    def _note_life(self) -> None:
        self._heard_at = self._clock()

    def _end_order(self, reason: str) -> None:
        with self._lock:
            if self._is_armed:
                self._end_once(reason)

    def _end_once(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            self._end()
