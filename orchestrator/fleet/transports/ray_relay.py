"""The relay: starts the host program on its host and carries bytes. Ray's actors are made of it.

It is sent to the host by value and needs Python's own modules alone.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread

PIPE_BYTES = 1 << 20
"""Most bytes of a pipe and of one chunk."""
_LINES = 3
_PATIENCE_S = 1.0


class Relay:
    """A host program and its two streams. Each method has a thread of its own."""

    def __init__(self, command: Sequence[str], removed_variables: Sequence[str]) -> None:
        """Start the program; the first word `python` stands for the host's own.

        Args:
            command: the program's command line.
            removed_variables: beginnings of variables that are Ray's alone.
        """
        words = [sys.executable if word == "python" else word for word in command]
        environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(tuple(removed_variables))
        }
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pipesize=PIPE_BYTES if sys.platform == "linux" else -1,
            env=environment,
            start_new_session=True,
        )
        self._last_lines: deque[str] = deque(maxlen=_LINES)
        self._stderr = Thread(target=self._read_stderr, daemon=True)
        self._stderr.start()

    def ready(self) -> int:
        """The program's pid, for whoever waits for its start."""
        return self._process.pid

    def send(self, data: bytes) -> None:
        """Write to the program; what it reads no more is dropped."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def receive(self) -> Iterator[bytes]:
        """Yield what the program writes, until it ends."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while chunk := os.read(descriptor, PIPE_BYTES):
            yield chunk

    def last_words(self) -> str:
        """The end of what the program wrote to stderr, in a line."""
        self._stderr.join(_PATIENCE_S)
        return "; ".join(filter(None, map(str.strip, self._last_lines)))

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._last_lines.append(line.decode("utf-8", "replace"))

    def end(self, grace_s: float) -> None:
        """End the program: its stdin ends, so that it cleans up; later it is killed."""
        process = self._process
        assert process.stdin is not None
        # A `send` that is blocked holds the file's lock: the descriptor is what ends the stream.
        with suppress(OSError):
            os.close(os.dup2(os.open(os.devnull, os.O_RDONLY), process.stdin.fileno()))
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
