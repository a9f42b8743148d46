"""The transport protocol: what carries an order to a host, and frames back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import IO, Literal, Protocol

from orchestrator.fleet.messages import Frame, encode, hear_nothing, read_frame
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
