"""The transport protocol, which carries frames to a host and back; the driver's side of it."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Lock, Thread
from typing import IO, Literal, Protocol

from orchestrator.fleet.messages import (
    Beat,
    Cancel,
    Frame,
    ToDriver,
    encode,
    frame_of,
    hear_nothing,
    message_to_driver,
    read_frame,
)
from runner.contract.errors import DamagedFile, Unavailable

TransportName = Literal["ray", "ssh", "slurm"]
HOST_MODULE = ("-P", "-m", "orchestrator", "fleet", "execute")
"""The words behind Python's name that start the host program."""
FIRST_WORD_S: Mapping[TransportName, float | None] = {"ray": 120.0, "ssh": 120.0, "slurm": None}
"""Seconds that a host program may take to say its first word; Slurm queues it as long as it likes.
"""


class HostBusy(Unavailable):
    """The host executes another driver's order, and is free later."""


@dataclass(frozen=True)
class FleetHost:
    """A host as a transport knows it, before anybody asked the host itself."""

    name: str
    transport: TransportName
    labels: dict[str, str] = field(default_factory=dict)


class Conversation(Protocol):
    """A host program under way: frames in, frames out. Each method may be called by any thread."""

    def send(self, frame: Frame) -> None:
        """Send a frame; one that cannot be sent is dropped, for `receive` tells of the end."""
        ...

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        """The next frame; blocks until there is one. None when the conversation is over.

        Whether the order ended well is for the last frame to say: no exit status is believed.

        Raises:
            DamagedFile: what came is no frame.
        """
        ...

    def end(self) -> None:
        """End it at once: the host program dies, or at least hears nothing any more."""
        ...


class Transport(Protocol):
    """A way to hosts."""

    name: TransportName

    def hosts(self) -> Sequence[FleetHost]:
        """The hosts that it reaches.

        Raises:
            Unavailable: what carries it is not there.
        """
        ...

    def begin(self, host: str) -> Conversation:
        """Start the host program, `orchestrator fleet execute`, on this host; may take a while.

        Raises:
            HostBusy: another driver has the host.
            Unavailable: the host cannot be reached; names it.
        """
        ...

    def close(self) -> None:
        """Release what it holds; hosts go on."""
        ...


class StreamConversation(ABC):
    """A conversation through two streams of bytes."""

    def __init__(self, to_host: IO[bytes], from_host: IO[bytes]) -> None:
        self._to_host, self._from_host = to_host, from_host
        self._sending = Lock()

    def send(self, frame: Frame) -> None:
        with self._sending, suppress(OSError, ValueError):
            self._to_host.write(encode(frame))
            self._to_host.flush()

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        try:
            frame = read_frame(self._from_host, alive)
        except DamagedFile as error:
            raise DamagedFile(f"{error}{self._last_words()}") from error
        if frame is None and (words := self._last_words()):
            raise DamagedFile(f"the connection ended{words}")
        return frame

    def _last_words(self) -> str:
        words = self.last_words()
        return f": {words}" if words else ""

    @abstractmethod
    def last_words(self) -> str:
        """The end of what the program wrote to stderr, in a line; empty if nobody knows."""

    @abstractmethod
    def end(self) -> None:
        pass


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
