"""Hosts on this machine, by a pipe or by ssh, and commands whose lines are read as they come.

Each host has caches of its own, by which its processes are known, and the device locks that its
fleet is given.
"""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread

import yaml

from tests.conftest import ROOT
from tests.support.sshd import Sshd, running_sshd
from tests.support.workplace import Workplace

PATIENCE_S = 400.0
"""Seconds in which every line must have come."""


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


_PIPE = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
exec "$@"
"""
"""Stands in for ssh: what it would start on a host starts right here."""
_PYTHON = """#!/bin/sh
export PYTHONPATH={root} XDG_CACHE_HOME={cache} ACCELMATRIX_LOCKS={locks}
exec {python} "$@"
"""


@dataclass(frozen=True)
class Way:
    """A way to hosts, or to this machine."""

    name: str
    options: tuple[str, ...] = ()
    """The options that name its hosts; none for a local run."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def user(self, folder: Path) -> Workplace:
        folder.mkdir(parents=True, exist_ok=True)
        return Workplace(folder, "process", dict(self.environment))

    def run(self, *options: str) -> list[str]:
        """The arguments of a run of the user's matrix."""
        scratch = ("--scratch", "--launcher", "process", "--seed", "0")
        return ["run", "matrix.yaml", *scratch, *self.options, *options]


def local(folder: Path) -> Way:
    """This machine, without a fleet."""
    return Way("local", environment=_own(folder))


def by_pipe(folder: Path, names: Sequence[str] = ("a",), locks: Path | None = None) -> Way:
    """Hosts that nothing but a pipe reaches; with `locks`, all of them share the devices there."""
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    _write_program(programs / "ssh", _PIPE)
    hosts = _write_hosts(folder, {name: {"address": name} for name in names}, locks)
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return Way("pipe", ("--fleet", "--hosts-file", str(hosts)), _own(folder) | path)


@contextmanager
def by_ssh(folder: Path, names: Sequence[str] = ("a",)) -> Iterator[Way]:
    """Hosts that an sshd of this machine reaches."""
    keys = folder / "sshd"
    keys.mkdir(parents=True)
    with running_sshd(keys) as sshd:
        hosts = _write_hosts(folder, {name: _of_sshd(sshd) for name in names}, None)
        yield Way("ssh", ("--fleet", "--hosts-file", str(hosts)), _own(folder))


def _own(folder: Path) -> dict[str, str]:
    """The variables of a user with a state, caches and locks of their own."""
    return {
        "ACCELMATRIX_STATE": str(folder / "state"),
        "ACCELMATRIX_LOCKS": str(folder / "locks"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": str(ROOT),
    }


def _write_hosts(
    folder: Path, ways: Mapping[str, Mapping[str, object]], locks: Path | None
) -> Path:
    hosts = []
    for name, way in ways.items():
        own = folder / name
        own.mkdir(parents=True, exist_ok=True)
        facts = {"root": ROOT, "python": sys.executable, "locks": locks or own / "locks"}
        program = own / "python"
        _write_program(program, _PYTHON.format(**facts, cache=own / "cache"))
        hosts.append({"name": name, **way, "python": str(program)})
    path = folder / "hosts.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "hosts": hosts}))
    return path


def _of_sshd(sshd: Sshd) -> dict[str, object]:
    entry = sshd.entry(Path("python")).model_dump(mode="json", exclude_defaults=True)
    return {name: entry[name] for name in ("address", "port", "identity", "known_hosts")}


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
