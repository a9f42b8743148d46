"""The driver's side of one order: two threads that send and receive, and a queue of what came."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread

from orchestrator.fleet.frames import Frame
from orchestrator.fleet.messages import Beat, Cancel, ToDriver, frame_of, message_to_driver
from orchestrator.fleet.transport import Conversation
from runner.contract.errors import DamagedFile

BEAT_S = 5.0
"""Seconds between two signs of life."""
SILENCE_S = 30.0
"""Seconds without a frame after which the other side counts as gone."""


@dataclass(frozen=True)
class Heard:
    """Something that a host said, or the end of what it said."""

    host: str
    order: str
    """The order's id."""
    message: ToDriver | None = None
    """The message; None at the end of the conversation."""
    body: bytes = b""
    """The file that belongs to it."""
    fault: str | None = None
    """The reason why the conversation cannot go on; None if it merely ended."""


class Talk:
    """One order's conversation."""

    def __init__(
        self,
        conversation: Conversation,
        host: str,
        order: str,
        heard: "Queue[Heard]",
        *,
        clock: Callable[[], float] = time.monotonic,
        beat_s: float = BEAT_S,
    ) -> None:
        """A conversation that begins with `start`.

        Args:
            conversation: the host program under way.
            host: the host's name.
            order: the order's id.
            heard: takes what the host says.
            clock: seconds that never go backwards.
            beat_s: seconds between two signs of life.
        """
        self._conversation = conversation
        self._host, self._order = host, order
        self._heard, self._clock, self._beat_s = heard, clock, beat_s
        self._to_send: Queue[Frame | None] = Queue()
        self._heard_at = clock()

    @property
    def silence_s(self) -> float:
        """Seconds since the host said anything."""
        return self._clock() - self._heard_at

    def start(self, frames: Iterable[Frame]) -> None:
        """Send the order's frames, and listen."""
        for frame in frames:
            self._to_send.put(frame)
        for work in (self._send, self._listen):
            Thread(target=work, daemon=True, name=f"{work.__name__} {self._host}").start()

    def cancel(self) -> None:
        """Ask the host to end its job and to clean up."""
        self._to_send.put(frame_of(Cancel()))

    def end(self) -> None:
        """End the host program, and say no more."""
        self._to_send.put(None)
        self._conversation.end()

    def _send(self) -> None:
        while True:
            try:
                frame = self._to_send.get(timeout=self._beat_s)
            except Empty:
                frame = frame_of(Beat())
            if frame is None:
                return
            self._conversation.send(frame)

    def _listen(self) -> None:
        fault = None
        try:
            while frame := self._conversation.receive():
                self._heard_at = self._clock()
                message = message_to_driver(frame)
                if not isinstance(message, Beat):
                    self._heard.put(Heard(self._host, self._order, message, frame.body))
        except DamagedFile as error:
            fault = str(error)
        self._heard.put(Heard(self._host, self._order, fault=fault))
