"""Two processes take turns of a second, so that both meet the same machine.

A shared machine's speed changes by some percent from one ten seconds to the next, more than what is
to be told apart. So the runner and a tool are both loaded, and SIGSTOP and SIGCONT let one of them
work at a time. Each stop lengthens one iteration of either, which their medians do not feel.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from itertools import cycle

TURN_S = 1.0


class Stoppable:
    """A process that works only when it is its turn; its output is kept."""

    def __init__(self, command: Sequence[str], sign: str) -> None:
        """Start it, let it work until a line holds the sign that it measures now, and stop it."""
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        self._stdout = self._process.stdout
        self._said: list[str] = []
        for line in self._stdout:
            self._said.append(line)
            if sign in line:
                break
        self._send(signal.SIGSTOP)
        self._began = time.monotonic()

    def take_turn(self) -> bool:
        """Work for a second; whether it goes on after that."""
        self._send(signal.SIGCONT)
        time.sleep(TURN_S)
        if self._process.poll() is not None:
            return False
        self._send(signal.SIGSTOP)
        return True

    def end(self, seconds: float) -> str:
        """Leave it stopped until its seconds are over, so that it ends; returns what it said."""
        if self._process.poll() is None:
            time.sleep(max(0.0, self._began + seconds - time.monotonic()))
        self._send(signal.SIGCONT)
        self._said += self._stdout
        if self._process.wait():
            raise SystemExit(f"{self._process.args!r} failed:\n{''.join(self._said)[-2000:]}")
        return "".join(self._said)

    def _send(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)


def alternate(first: Stoppable, second: Stoppable, seconds: float) -> tuple[str, str]:
    """Let them take turns until one has ended, as both do after so long; returns what each said."""
    for process in cycle((first, second)):
        if not process.take_turn():
            break
    return first.end(seconds), second.end(seconds)
