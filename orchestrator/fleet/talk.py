"""The driver's side of one order: two threads that send and receive, and a queue of what came."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Lock, Thread

from orchestrator.fleet.frames import Frame
from orchestrator.fleet.messages import Beat, Cancel, ToDriver, frame_of, message_to_driver
from orchestrator.fleet.transport import Conversation
from runner.contract.errors import DamagedFile, Unavailable

BEAT_S = 5.0
"""Seconds between two signs of life."""
SILENCE_S = 30.0
"""Seconds without a byte after which the other side counts as gone."""


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
    obstacle: Unavailable | None = None
    """The reason why it has not begun."""


class Talk:
    """One order's conversation, from its begin on, which may take a while."""

    def __init__(
        self,
        begin: Callable[[], Conversation],
        host: str,
        order: str,
        heard: "Queue[Heard]",
        *,
        clock: Callable[[], float] = time.monotonic,
        beat_s: float = BEAT_S,
    ) -> None:
        """A conversation that begins with `start`.

        Args:
            begin: starts the host program, called by a thread of the talk's own.
            host: the host's name.
            order: the order's id.
            heard: takes what the host says.
            clock: seconds that never go backwards.
            beat_s: seconds between two signs of life.
        """
        self._begin = begin
        self._host, self._order = host, order
        self._heard, self._clock, self._beat_s = heard, clock, beat_s
        self._to_send: Queue[Frame | None] = Queue()
        self._lock = Lock()
        self._conversation: Conversation | None = None
        self._ended = False
        self._begun_at: float | None = None
        self._heard_at: float | None = None

    def is_silent(self, silence_s: float, first_word_s: float | None) -> bool:
        """True if the host is gone, by what it says.

        Args:
            silence_s: seconds that it may be silent.
            first_word_s: seconds that its program may take to say something; None for any time.
        """
        if self._heard_at is not None:
            return self._clock() - self._heard_at > silence_s
        if self._begun_at is None or first_word_s is None:
            return False
        return self._clock() - self._begun_at > first_word_s

    def start(self, frames: Iterable[Frame]) -> None:
        """Begin, send the order's frames, and listen; the frames are read as they are sent."""
        name = f"fleet, {self._host}"
        Thread(target=self._work, args=(iter(frames),), daemon=True, name=name).start()

    def cancel(self) -> None:
        """Ask the host to end its job and to clean up."""
        self._to_send.put(frame_of(Cancel()))

    def end(self) -> None:
        """End the host program, also one that is still to begin, and say no more."""
        with self._lock:
            self._ended = True
            conversation = self._conversation
        self._to_send.put(None)
        if conversation is not None:
            conversation.end()

    def _work(self, frames: Iterator[Frame]) -> None:
        try:
            conversation = self._begin()
        except Unavailable as error:
            self._heard.put(Heard(self._host, self._order, obstacle=error))
            return
        except (Exception, SystemExit) as error:  # whatever a transport's library raises
            obstacle = Unavailable(f"host {self._host}: cannot be reached: {error}")
            self._heard.put(Heard(self._host, self._order, obstacle=obstacle))
            return
        with self._lock:
            self._conversation, self._begun_at = conversation, self._clock()
        if self._ended:
            conversation.end()
            return
        name = f"fleet, to {self._host}"
        Thread(target=self._send, args=(conversation, frames), daemon=True, name=name).start()
        self._listen(conversation)

    def _send(self, conversation: Conversation, frames: Iterator[Frame]) -> None:
        for frame in frames:
            conversation.send(frame)
            if self._ended:
                return
        while True:
            try:
                following = self._to_send.get(timeout=self._beat_s)
            except Empty:
                following = frame_of(Beat())
            if following is None:
                return
            conversation.send(following)

    def _listen(self, conversation: Conversation) -> None:
        fault = None
        try:
            while frame := conversation.receive(self._note_life):
                self._note_life()
                message = message_to_driver(frame)
                if not isinstance(message, Beat):
                    self._heard.put(Heard(self._host, self._order, message, frame.body))
        except DamagedFile as error:
            fault = str(error)
        self._heard.put(Heard(self._host, self._order, fault=fault))

    def _note_life(self) -> None:
        self._heard_at = self._clock()
