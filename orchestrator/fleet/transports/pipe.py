"""A conversation with a program through its stdin and stdout: of ssh, of srun, or on this host."""

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

from orchestrator.fleet.frames import Frame, encode, hear_nothing, read_frame
from runner.contract.errors import DamagedFile

_TAIL_LINES = 20
_QUOTED_LINES = 3
"""An error, its hint, and a line of the command that carried them."""
_TAIL_S = 1.0
_PATIENCE_S = 5.0
"""Seconds that a program may take to clean up once its stdin is closed."""


class PipeConversation:
    """A program under way, in a process group of its own."""

    def __init__(self, command: Sequence[str], *, patience_s: float = _PATIENCE_S) -> None:
        """Start the program.

        Args:
            command: its command line.
            patience_s: seconds that it may take to end once its stdin has.

        Raises:
            OSError: it cannot be started.
        """
        self._patience_s = patience_s
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._lock = Lock()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reader = Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    def send(self, frame: Frame) -> None:
        """Send a frame, if the program still reads."""
        stdin = self._process.stdin
        assert stdin is not None
        with self._lock, suppress(OSError, ValueError):
            stdin.write(encode(frame))
            stdin.flush()

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        """The next frame; None at the end of stdout.

        Args:
            alive: is called whenever bytes came.

        Raises:
            DamagedFile: what came is no frame, or the program ended without any; says what its
                stderr says.
        """
        stdout = self._process.stdout
        assert stdout is not None
        try:
            frame = read_frame(stdout, alive)
        except DamagedFile as error:
            raise DamagedFile(f"{error}{self._last_words()}") from error
        if frame is None and (words := self._last_words()):
            raise DamagedFile(f"the connection ended{words}")
        return frame

    def end(self) -> None:
        """End stdin, which ends a host program in an orderly way; kill what does not end."""
        stdin = self._process.stdin
        assert stdin is not None
        # A `send` that is blocked holds the file's lock: the descriptor is what ends the stream.
        with suppress(OSError, ValueError), Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), stdin.fileno())
        try:
            self._process.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _last_words(self) -> str:
        """The end of its stderr, as the end of a sentence."""
        self._reader.join(_TAIL_S)
        lines = [line.strip() for line in self._tail if line.strip()]
        return f": {'; '.join(lines[-_QUOTED_LINES:])}" if lines else ""

    def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        for line in stderr:
            self._tail.append(line.decode("utf-8", "replace"))
