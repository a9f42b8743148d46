"""The driver's side of a conversation: threads that send and receive, a queue, the end."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Lock, Thread
from typing import Protocol

from orchestrator.fleet.messages import Beat, Cancel, Frame, ToDriver, frame_of, message_to_driver
from orchestrator.fleet.transport import Conversation
from runner.contract.errors import DamagedFile, Unavailable

BEAT_S = 5.0
"""Seconds between two signs of life."""
SILENCE_S = 30.0
"""Seconds without a byte after which the other side counts as gone."""
FAREWELL_S = 10.0
"""Seconds that hosts have to clean up once they were told to end."""
_END_S = 6.0
"""Seconds for programs that do not heed their end to be killed."""


@dataclass(frozen=True)
class Heard:
    """Something that a host said, or the end of what it said."""

    host: str
    order: str
    message: ToDriver | None = None
    body: bytes = b""
    fault: str | None = None
    """The reason why the conversation cannot go on; None if it merely ended."""
    obstacle: Unavailable | None = None
    """The reason why it has not begun."""


class Talk:
    """A host's orders, one after the other, in one conversation, whose begin may take a while."""

    def __init__(
        self,
        begin: Callable[[], Conversation],
        host: str,
        heard: "Queue[Heard]",
        *,
        clock: Callable[[], float] = time.monotonic,
        beat_s: float = BEAT_S,
    ) -> None:
        """A conversation that begins with the first order, in a thread of its own."""
        self._begin = begin
        self._host, self._order = host, ""
        self._heard, self._clock, self._beat_s = heard, clock, beat_s
        self._to_send: Queue[Iterable[Frame] | None] = Queue()
        self._lock = Lock()
        self._conversation: Conversation | None = None
        self._started = self._ended = False
        self._begun_at: float | None = None
        self._heard_at: float | None = None

    def is_silent(self, silence_s: float, first_word_s: float | None) -> bool:
        """True if the host is gone; `first_word_s` is None if its program may take any time."""
        if self._heard_at is not None:
            return self._clock() - self._heard_at > silence_s
        if self._begun_at is None or first_word_s is None:
            return False
        return self._clock() - self._begun_at > first_word_s

    def give(self, order: str, frames: Iterable[Frame]) -> None:
        """Give the host an order once the one before has ended; frames are read when sent."""
        self._order = order
        self._to_send.put(frames)
        if not self._started:
            self._started = True
            Thread(target=self._work, daemon=True, name=f"fleet, {self._host}").start()

    def cancel(self) -> None:
        self._to_send.put([frame_of(Cancel())])

    def end(self) -> None:
        """End the host program, also one that is still to begin, and say no more."""
        with self._lock:
            self._ended = True
            conversation = self._conversation
        self._to_send.put(None)
        if conversation is not None:
            conversation.end()

    def _work(self) -> None:
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
        Thread(target=self._send, args=(conversation,), daemon=True, name=name).start()
        self._listen(conversation)

    def _send(self, conversation: Conversation) -> None:
        while (frames := self._following()) is not None:
            for frame in frames:
                conversation.send(frame)
                if self._ended:
                    return

    def _following(self) -> Iterable[Frame] | None:
        """The frames to be sent next; None if there are never any."""
        try:
            return self._to_send.get(timeout=self._beat_s)
        except Empty:
            return [frame_of(Beat())]

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


class Endable(Protocol):
    """A conversation, or what has one."""

    def end(self) -> None: ...


def end_later(conversation: Endable) -> Thread:
    thread = Thread(target=conversation.end, daemon=True)
    thread.start()
    return thread


def end_all(conversations: Iterable[Endable]) -> None:
    """End conversations side by side, and wait for the slowest, but not for ever."""
    for thread in [*map(end_later, conversations)]:
        thread.join(_END_S)


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """Let one more Ctrl-C end this at once, where our program would ask for patience first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
