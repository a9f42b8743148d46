"""The host's side of a conversation: messages out, signs of life in both directions."""

import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import BinaryIO

from orchestrator.fleet.frames import encode, read_frame
from orchestrator.fleet.messages import Beat, Cancel, ToDriver, ToHost, frame_of, message_to_host
from runner.contract.errors import DamagedFile


class Wire:
    """The stream to the driver. Each method may be called by any thread."""

    def __init__(self, out: BinaryIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._lock = Lock()
        self._sent_at = clock()
        self.beats = 0
        """Signs of life that were sent."""
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
                self.beats += 1


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
        self._is_armed = True
        self.reason: str | None = None
        """The reason to end; None while there is none."""

    def start(self, stop: Event) -> None:
        """Look for silence until told to stop."""
        Thread(target=self._watch, args=(stop,), daemon=True).start()

    def next_message(self) -> tuple[ToHost, bytes] | None:
        """The driver's next message, with its body; None if it says no more.

        Raises:
            DamagedFile: it is no message to a host.
        """
        frame = read_frame(self._stream, self._note_life)
        return None if frame is None else (message_to_host(frame), frame.body)

    def listen(self) -> None:
        """Listen to what the driver says during an order, in a thread."""
        Thread(target=self._listen, daemon=True).start()

    def disarm(self) -> None:
        """End nothing any more: what the order left is removed, and the driver may go."""
        with self._lock:
            self._is_armed = False

    def _listen(self) -> None:
        try:
            while received := self.next_message():
                if isinstance(received[0], Cancel):
                    self._tell("the driver has ended the order")
        except (DamagedFile, OSError, ValueError) as error:
            self._tell(f"the driver cannot be understood: {error}")
        self._tell("the driver is gone")

    def _watch(self, stop: Event) -> None:
        while not stop.wait(self._silence_s / 10):
            if self._clock() - self._heard_at > self._silence_s:
                self._tell("the driver is silent")

    def _note_life(self) -> None:
        self._heard_at = self._clock()

    def _tell(self, reason: str) -> None:
        with self._lock:
            if self.reason is not None or not self._is_armed:
                return
            self.reason = reason
            self._end()
