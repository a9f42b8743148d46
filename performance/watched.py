"""Processes that are watched: the moment of each of their lines, and the end."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import IO, NamedTuple

import psutil


class Seconds(NamedTuple):
    """Seconds on the wall, and of the processors."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s, processors {self.cpu:.2f} s"

    def __add__(self, other: "Seconds") -> "Seconds":  # type: ignore[override]
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.wall - other.wall, self.cpu - other.cpu)

    def by(self, count: int) -> "Seconds":
        """The share of one of so many."""
        return Seconds(self.wall / count, self.cpu / count)

    @property
    def rounded(self) -> tuple[float, float]:
        """Both to milliseconds."""
        return round(self.wall, 3), round(self.cpu, 3)


@dataclass(frozen=True)
class Line:
    """A line, and the seconds since its process began when it came."""

    at: Seconds
    text: str


@dataclass(frozen=True)
class Watched:
    """A process that has ended with an exit code that was accepted."""

    output: list[Line]
    """Its lines on stdout."""
    errors: list[Line]
    """Its lines on stderr."""
    end: Seconds
    """Seconds from its beginning to its end, its children's included."""

    def until(self, part: str) -> Seconds:
        """Seconds until the first line on stderr with that part."""
        return next(line.at for line in self.errors if part in line.text)


def watch(
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    accepted: Collection[int] = (0,),
) -> Watched:
    """Run Python with these arguments to its end; another exit code ends the measurement."""
    output, errors = list[Line](), list[Line]()
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def read(stream: IO[str], lines: list[Line]) -> None:
        lines.extend(
            Line(Seconds(time.perf_counter() - began, _spent(process.pid)), text) for text in stream
        )

    streams = ((process.stdout, output), (process.stderr, errors))
    readers = [Thread(target=read, args=stream, daemon=True) for stream in streams]
    for reader in readers:
        reader.start()
    _, status, usage = os.wait4(process.pid, 0)
    end = Seconds(time.perf_counter() - began, usage.ru_utime + usage.ru_stime)
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    if process.returncode not in accepted:
        text = "".join(line.text for line in errors)
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}:\n{text}")
    return Watched(output, errors, end)


def _spent(pid: int) -> float:
    """Processor seconds of a process, without its children's."""
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0
