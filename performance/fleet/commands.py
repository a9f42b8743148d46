"""Commands of a user, whose lines are read with the moment at which they came."""

import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Condition, Thread

from tests.support.workplace import Workplace

PATIENCE_S = 400.0
"""Seconds in which every line must have come."""
ON_HOSTS = r"cells on \d+ hosts?; about"
"""The line after which orders go out."""


@dataclass(frozen=True)
class Line:
    """A line of progress."""

    at_s: float
    """Seconds on a clock that never goes backwards."""
    text: str


class Command:
    """A command under way."""

    def __init__(self, user: Workplace, *arguments: str) -> None:
        """Start it in the user's folder."""
        self.process = user.start(*arguments)
        self.lines: list[Line] = []
        self._news, self._over = Condition(), False
        self._output = ""
        self._threads = [Thread(target=work, daemon=True) for work in (self._read, self._drain)]
        for thread in self._threads:
            thread.start()

    def until(self, pattern: str, since: Line | None = None) -> Line:
        """The first line that fits, after another one if that is named."""
        deadline = time.monotonic() + PATIENCE_S
        with self._news:
            while True:
                start = 0 if since is None else self.lines.index(since) + 1
                for line in self.lines[start:]:
                    if re.search(pattern, line.text):
                        return line
                if self._over or not self._news.wait(deadline - time.monotonic()):
                    raise SystemExit(f"no line {pattern!r} came:\n{self.text}")

    def end(self, code: int = 0) -> list[Line]:
        """Wait for its end; returns its lines. Another exit status ends the measurement."""
        if self.status() != code:
            raise SystemExit(f"exit status {self.process.returncode}, not {code}:\n{self.text}")
        return self.lines

    def status(self) -> int:
        """Wait for its end; returns the exit status."""
        status = self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join()
        return status

    def kill(self) -> float:
        """Kill it; returns the moment."""
        self.process.send_signal(signal.SIGKILL)
        moment = time.monotonic()
        self.process.wait()
        return moment

    @property
    def text(self) -> str:
        """The end of all that it said."""
        return "\n".join(line.text for line in self.lines[-30:]) + "\n" + self._output[-2000:]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            with self._news:
                self.lines.append(Line(time.monotonic(), text.rstrip("\n")))
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def _drain(self) -> None:
        assert self.process.stdout is not None
        self._output = self.process.stdout.read()


def job_starts(lines: Sequence[Line]) -> list[float]:
    """The moments at which jobs of the fake backend were launched, here or on a host."""
    return [line.at_s for line in lines if re.match(r"([\w.-]+: )?fake-\S+: \d+ cell", line.text)]


def job_periods(lines: Sequence[Line]) -> list[float]:
    """Seconds from each launch to the next one, of a run that does one after the other."""
    return [after - before for before, after in pairwise(job_starts(lines))]


def makespan_s(lines: Sequence[Line]) -> float:
    """Seconds from the moment at which orders go out to the last verdict."""
    began = next(line.at_s for line in lines if re.search(ON_HOSTS, line.text))
    return max(line.at_s for line in lines if re.match(r"\[\d+/\d+\] ", line.text)) - began


def first_job_s(lines: Sequence[Line]) -> float:
    """Seconds from the moment at which orders go out to the first launch."""
    began = next(line.at_s for line in lines if re.search(ON_HOSTS, line.text))
    return job_starts(lines)[0] - began
