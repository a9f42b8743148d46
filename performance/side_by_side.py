"""Two processes in short turns, so that both see the same machine.

A shared machine's speed changes by some percent from one ten seconds to the next, more than the
difference in question. So the runner and a tool are both loaded, and SIGSTOP and SIGCONT
let one of them work at a time. Each stop lengthens one iteration, which changes no median.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from itertools import cycle


class Stoppable:
    """A process that works only in its turns; its output is kept."""

    def __init__(self, command: Sequence[str], sign: str) -> None:
        """Start the process, and stop it at the first line that contains `sign`."""
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        self._stdout = self._process.stdout
        self._output: list[str] = []
        for line in self._stdout:
            self._output.append(line)
            if sign in line:
                break
        self._send(signal.SIGSTOP)
        self._began = time.monotonic()

    def take_turn(self, turn_s: float) -> bool:
        """Let it work for so many seconds; True if it has not ended."""
        self._send(signal.SIGCONT)
        time.sleep(turn_s)
        if self._process.poll() is not None:
            return False
        self._send(signal.SIGSTOP)
        return True

    def end(self, seconds: float) -> str:
        """Let it end, by leaving it stopped until its seconds are over; returns its output."""
        if self._process.poll() is None:
            time.sleep(max(0.0, self._began + seconds - time.monotonic()))
        self._send(signal.SIGCONT)
        self._output += self._stdout
        if self._process.wait():
            raise SystemExit(f"{self._process.args!r} failed:\n{''.join(self._output)[-2000:]}")
        return "".join(self._output)

    def _send(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)


def alternate(
    first: Stoppable, second: Stoppable, seconds: float, turn_s: float
) -> tuple[str, str]:
    """Alternate two processes until one ends, after so many seconds; returns both outputs."""
    for process in cycle((first, second)):
        if not process.take_turn(turn_s):
            break
    return first.end(seconds), second.end(seconds)
