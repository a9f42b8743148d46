"""A conversation with a host program through a relay that Ray runs on the host."""

import io
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from typing import Any, BinaryIO, cast

from orchestrator.fleet.frames import Frame, encode, hear_nothing, read_frame
from orchestrator.fleet.transports.ray_calls import LeftCluster, RayCalls
from runner.contract.errors import DamagedFile

PIECE_BYTES = 1 << 20
"""Most bytes of a frame that are sent at once: to a slow host, each is a sign of life."""
_PENDING = 4
"""Pieces that may be on their way."""
_FETCH_S = 30.0
"""Seconds for a chunk that is there to come over the network."""
_WORDS_S = 5.0
_GRACE_S = 20.0
"""Seconds for a host program to clean up after its stdin ended."""


class RayConversation:
    """A host program under way behind an actor."""

    def __init__(
        self,
        actor: Any,
        calls: RayCalls,
        is_gone: Callable[[], bool],
        on_death: Callable[[BaseException], None],
    ) -> None:
        """Listen to an actor whose program runs.

        Args:
            actor: the handle of a `Relay`.
            calls: the driver's calls of Ray.
            is_gone: True if the host is known to be dead.
            on_death: takes the error by which Ray says that the actor is dead.
        """
        self._actor, self._calls = actor, calls
        self._is_gone = is_gone
        self._on_death = on_death
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._sent: deque[Any] = deque()
        self._over = threading.Event()
        generator = actor.receive.options(
            num_returns="streaming", concurrency_group="out", _generator_backpressure_num_objects=16
        ).remote()
        chunks = _ChunkStream(self._chunks(generator))
        self._stream = cast("BinaryIO", io.BufferedReader(chunks, buffer_size=PIECE_BYTES))

    def send(self, frame: Frame) -> None:
        """Send a frame; one that cannot be sent is dropped, for `receive` tells of the end."""
        data = encode(frame)
        with self._sending:
            for begin in range(0, len(data), PIECE_BYTES):
                if self._over.is_set():
                    return
                self._send_piece(data[begin : begin + PIECE_BYTES])

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        """The next frame; blocks until there is one. None when the conversation is over.

        Args:
            alive: is called whenever bytes came.

        Raises:
            DamagedFile: what came is no frame, or the program ended and its stderr says why.
        """
        with self._receiving:
            try:
                frame = read_frame(self._stream, alive)
            except DamagedFile as error:
                raise DamagedFile(f"{error}{self._last_words()}") from error
            if frame is None and (words := self._last_words()):
                raise DamagedFile(f"the connection ended{words}")
            return frame

    def end(self) -> None:
        """End it at once: the host program's stdin ends; one that does not heed it is killed."""
        if not self._over.is_set():
            self._over.set()
            with suppress(LeftCluster), self._calls.one():
                self._actor.end.options(concurrency_group="end").remote(_GRACE_S)
                self._actor.__ray_terminate__.options(concurrency_group="end").remote()

    def _last_words(self) -> str:
        """The end of the program's stderr, as the end of a sentence; empty if nobody can tell."""
        import ray

        if self._is_over():
            return ""
        try:
            with self._calls.one():
                answer = self._actor.last_words.options(concurrency_group="end").remote()
                words = ray.get(answer, timeout=_WORDS_S)
        except (ray.exceptions.RayError, LeftCluster, SystemExit):
            return ""
        return f": {words}" if words else ""

    def _send_piece(self, piece: bytes) -> None:
        import ray

        try:
            with self._calls.one():
                self._sent.append(self._actor.send.options(concurrency_group="in").remote(piece))
            while len(self._sent) > _PENDING and self._is_there(self._sent[0]):
                with self._calls.one():
                    ray.get(self._sent.popleft())
        except LeftCluster:
            self._over.set()
        except (ray.exceptions.RayError, SystemExit) as error:
            self._die(error)

    def _chunks(self, generator: Any) -> Iterator[bytes]:
        """Yield the program's output, until it, its actor or its host ends."""
        import ray

        try:
            while self._is_there(generator):
                with self._calls.one():
                    chunk = ray.get(next(generator), timeout=_FETCH_S)
                yield chunk
        except (StopIteration, LeftCluster):
            return
        except (ray.exceptions.RayError, SystemExit) as error:
            self._die(error)

    def _is_there(self, answer: Any) -> bool:
        """Wait for an answer; False once nobody needs it or its host is gone."""
        return self._calls.is_ready(answer, inf, self._is_over)

    def _is_over(self) -> bool:
        return self._over.is_set() or self._is_gone()

    def _die(self, error: BaseException) -> None:
        self._over.set()
        self._on_death(error)


class _ChunkStream(io.RawIOBase):
    """Chunks as a file that can be read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy the rest of a chunk, or the next one; 0 at the end."""
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
