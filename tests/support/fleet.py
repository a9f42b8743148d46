"""Hosts of a fleet for tests: orders of the fake backend, and conversations with hosts."""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import psutil

import runner
from orchestrator.fleet.messages import Ended, Frame, Order, ToDriver, frame_of
from orchestrator.fleet.transport import (
    BEAT_S,
    HOST_MODULE,
    FleetHost,
    Heard,
    Talk,
    Transport,
    TransportName,
)
from orchestrator.fleet.transports.commands import PipeConversation
from orchestrator.running.run_file import RunFile, run_file_text
from tests.conftest import ROOT
from tests.support.jobs import fake_model
from tests.support.runs import a_plan, a_run_folder

ORDER = "order-1"
PATIENCE_S = 60.0
"""Seconds in which everything must have ended."""
_CARRIERS = ("sshd", "ray::Relay")
"""Beginnings of the names of processes through which a driver talks to a host's program."""


def an_order(folder: Path, latency_s: float = 0.001, **changes: Any) -> tuple[RunFile, Frame]:
    """An order of three cells of the fake backend, and its run."""
    run = a_run_folder(folder, a_plan(model=fake_model(latency_s=latency_s))).run
    known = {"id": ORDER, "host": "a", "transport": "ssh", "version": runner.__version__}
    order = Order.model_validate(known | changes)
    return run, frame_of(order, run_file_text(run).encode())


@dataclass
class PipeTransport:
    """This machine as the one host, by nothing but a pipe."""

    program: Path
    """The program in the place of the host's Python."""
    name: TransportName = "ssh"

    def hosts(self) -> Sequence[FleetHost]:
        return [FleetHost("a", self.name)]

    def begin(self, host: str) -> PipeConversation:
        assert host == "a"
        return PipeConversation([str(self.program), *HOST_MODULE])

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ReachedHost:
    """A host that a transport reaches; it sees the files of this machine's repository."""

    way: Callable[[Path], Transport]
    """The transport, if that program stands in the place of the host's Python."""
    folder: Path
    """A folder that the host sees, too; its caches and locks lie there."""

    def transport(self, script: str | None = None) -> Transport:
        """The transport to the host, or to one whose program is a script of Python."""
        if script is None:
            command = f'{sys.executable} "$@"'
        else:
            (self.folder / "script.py").write_text(script)
            command = f"{sys.executable} {self.folder / 'script.py'}"
        variables = {
            "PYTHONPATH": ROOT,
            "XDG_CACHE_HOME": self.cache,
            "ACCELMATRIX_LOCKS": self.folder / "locks",
        }
        exports = " ".join(f"{name}={value}" for name, value in variables.items())
        self.program.write_text(f"#!/bin/sh\nexport {exports}\nexec {command}\n")
        self.program.chmod(0o755)
        return self.way(self.program)

    @property
    def program(self) -> Path:
        """The program in the place of the host's Python."""
        return self.folder / "python"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def orders(self) -> Path:
        """The folder of all orders on the host."""
        return self.cache / "accelmatrix" / "fleet"

    def processes(self) -> list[psutil.Process]:
        """Everything of ours that runs on the host."""
        return [one for one in psutil.process_iter() if self._is_ours(one)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("XDG_CACHE_HOME") == str(self.cache)
        except psutil.Error:
            return False

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """The host without a network: what carries its bytes is stopped, and closes nothing."""
        parents = [parent for one in self.processes() for parent in one.parents()]
        carrier = next((one for one in parents if one.name().startswith(_CARRIERS)), None)
        assert carrier is not None, "nothing carries bytes to this host"
        carrier.suspend()
        try:
            yield
        finally:
            carrier.resume()

    def is_quiet(self) -> bool:
        """True as soon as nothing of ours runs there; False if something still does."""
        return soon(lambda: not self.processes())


def soon(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """True as soon as the condition holds; False if it never does."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Exchange:
    """One conversation with a host, with the driver's beats."""

    def __init__(self, transport: Transport, *frames: Frame, beat_s: float = BEAT_S) -> None:
        self._heard: Queue[Heard] = Queue()
        (host,) = (host.name for host in transport.hosts())
        self.talk = Talk(lambda: transport.begin(host), host, self._heard, beat_s=beat_s)
        self.talk.give(ORDER, frames)

    def until(self, kind: type[ToDriver]) -> Heard:
        """The first message of that kind."""
        while True:
            heard = self._heard.get(timeout=PATIENCE_S)
            assert heard.message is not None, heard.fault
            if isinstance(heard.message, kind):
                return heard

    def rest(self) -> list[Heard]:
        """All that is still said, the end as the last; an order that has ended is the last one."""
        rest = [self._heard.get(timeout=PATIENCE_S)]
        while rest[-1].message is not None:
            if isinstance(rest[-1].message, Ended):
                self.talk.end()
            rest.append(self._heard.get(timeout=PATIENCE_S))
        self.talk.end()
        return rest


class DriverProcess:
    """A driver in a process of its own, which sends its frames and then beats."""

    def __init__(self, transport: Transport, *frames: Frame) -> None:
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_drive, args=(transport, frames), daemon=True)
        self._process.start()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _drive(transport: Transport, frames: Sequence[Frame]) -> None:
    exchange = Exchange(transport, *frames)
    while True:
        exchange.rest()
