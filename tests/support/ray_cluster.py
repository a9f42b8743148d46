"""A Ray cluster of this machine for tests: a head and three hosts, as `ray start` makes them."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import psutil

from orchestrator.fleet.transport import Conversation, FleetHost, TransportName
from orchestrator.fleet.transports.ray import RayTransport
from tests.conftest import ROOT
from tests.support.fleet import soon
from tests.support.needs import lacking
from tests.support.ports import free_port

HOSTS = {"alpha": "lab1", "beta": "lab1", "gamma": "lab2"}
"""The room of each host, a label."""
HEAD = "head"
_OF_ALL = ("--num-cpus=0", "--include-log-monitor=false")
_OF_HEAD = ("--head", "--node-ip-address=127.0.0.1", "--include-dashboard=false")
_VARIABLES = {
    "RAY_worker_niceness": "0",
    "RAY_kill_child_processes_on_worker_exit": "false",
    "RAY_memory_monitor_refresh_ms": "0",
}
"""Those that docs/fleet.md names, for `ray start`."""


@dataclass(frozen=True)
class Cluster:
    """A head and its hosts. It ends its own processes, and no other Ray."""

    folder: Path
    address: str
    sockets: Path
    """Ray's folder, whose path must be short."""
    separate: bool = False
    """True if each host has caches and device locks of its own, as on machines of their own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of everybody's beside ours."""
    started: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a driver."""
        kept = {name: text for name, text in os.environ.items() if name[:4] != "RAY_"}
        return kept | {
            "ACCELMATRIX_STATE": str(self.folder / "state"),
            "ACCELMATRIX_LOCKS": str(self.folder / "locks"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": str(ROOT),
            "RAY_ADDRESS": self.address,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.token_file),
            **self.variables,
        }

    def environment_of(self, host: str) -> dict[str, str]:
        """The variables of one host."""
        own, variables = self.folder / host, self.environment | _VARIABLES
        del variables["RAY_ADDRESS"]
        if not self.separate:
            return variables
        folders = {"ACCELMATRIX_LOCKS": str(own / "locks"), "XDG_CACHE_HOME": str(own / "cache")}
        return variables | folders

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "orchestrator", "fleet", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, name: str) -> None:
        """Start the head, or a host; wait until Ray says that it runs."""
        port = self.address.rpartition(":")[2]
        labels = f"--labels=accelmatrix-name={name},room={HOSTS.get(name)}"
        location: tuple[str, ...] = (f"--address={self.address}", labels)
        if name == HEAD:
            location = (*_OF_HEAD, f"--port={port}", f"--temp-dir={self.sockets}")
        environment = self.environment_of(name)
        self.started[name] = start_ray(
            ["start", *_OF_ALL, *location], environment, self.folder / f"{name}.log"
        )

    def processes(self, name: str) -> list[psutil.Process]:
        """All processes of the head or a host, those of its orders too."""
        return family(self.started[name])

    def kill(self, name: str) -> None:
        """Kill the daemons of the head or a host; its orders are left to themselves."""
        for process in self.processes(name):
            with suppress(psutil.Error):
                if process.name() in {"raylet", "gcs_server"}:
                    process.kill()

    def transport(self, exclusive: bool = True) -> RayTransport:
        program = ("python", str(self.folder / "program.py"), str(self.folder / "said"))
        return RayTransport(self.address, self.token_file, program=program, exclusive=exclusive)


def start_ray(
    words: Sequence[str], environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    """Execute `ray start`, which goes on as the parent of what it started."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), *words, "--block", "--disable-usage-stats"],
            env={**environment, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert soon(lambda: b"Ray runtime started" in log.read_bytes(), 200), log.read_text()
    return started


def family(started: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """What `ray start` has started, and all that this has."""
    with suppress(psutil.Error):
        first = psutil.Process(started.pid)
        return [first, *first.children(recursive=True)]
    return []


def end_ray(started: Iterable["subprocess.Popen[bytes]"], sockets: Path) -> None:
    """End these and no other Ray, and remove their folder of sockets."""
    processes = [process for one in started for process in family(one)]
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    for one in started:
        one.wait()
    psutil.wait_procs(processes, timeout=10)
    shutil.rmtree(sockets, ignore_errors=True)


@dataclass(frozen=True)
class OneHost:
    """A transport of which one host alone is used; a copy in another process connects anew."""

    address: str
    token_file: Path
    program: tuple[str, ...]
    host: str
    name: TransportName = "ray"

    @cached_property
    def transport(self) -> RayTransport:
        return RayTransport(self.address, self.token_file, program=self.program)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "transport"}

    def hosts(self) -> list[FleetHost]:
        return [host for host in self.transport.hosts() if host.name == self.host]

    def begin(self, host: str) -> Conversation:
        return self.transport.begin(host)

    def close(self) -> None:
        if "transport" in vars(self):
            self.transport.close()


@contextmanager
def running_cluster(
    folder: Path,
    *,
    separate: bool = False,
    variables: Mapping[str, str] | None = None,
    hosts: Iterable[str] = HOSTS,
) -> Iterator[Cluster]:
    """A head and its hosts; nothing of them is left in the end."""
    if find_spec("ray") is None:
        lacking("Ray, as requirements-fleet.txt has it")
    sockets = Path(tempfile.mkdtemp(prefix="ray-"))
    address = f"127.0.0.1:{free_port()}"
    cluster = Cluster(folder, address, sockets, separate, variables or {})
    cluster.token_file.touch(0o600)
    cluster.token_file.write_text("a-token-of-many-letters-for-tests")
    try:
        for name in (HEAD, *hosts):  # one after the other: Ray gives up on a slow start
            cluster.start(name)
        yield cluster
    finally:
        end_ray(cluster.started.values(), sockets)
