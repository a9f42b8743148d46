"""A Ray cluster of this machine for tests: a head and three hosts, started by the commands."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from orchestrator.fleet.membership import StateFolder
from orchestrator.fleet.transport import Conversation, FleetHost, TransportName
from orchestrator.fleet.transports.ray import RayTransport
from tests.conftest import ROOT
from tests.support.needs import lacking
from tests.support.ports import free_port

HOSTS = {"alpha": "lab1", "beta": "lab1", "gamma": "lab2"}
"""The room of each host, a label."""


@dataclass(frozen=True)
class Cluster:
    """A head and its hosts, started by the commands."""

    folder: Path
    address: str
    separate: bool = False
    """True if each host has caches and device locks of its own, as on machines of their own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of everybody's beside ours."""

    @property
    def state(self) -> StateFolder:
        return StateFolder(self.folder / "state/fleet")

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its hosts and of a driver."""
        kept = {name: text for name, text in os.environ.items() if name[:4] != "RAY_"}
        return kept | {
            "ACCELMATRIX_STATE": str(self.folder / "state"),
            "ACCELMATRIX_LOCKS": str(self.folder / "locks"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": str(ROOT),
            **self.variables,
        }

    def environment_of(self, host: str) -> dict[str, str]:
        """The variables of one host."""
        if not self.separate:
            return self.environment
        own = self.folder / host
        folders = {"ACCELMATRIX_LOCKS": str(own / "locks"), "XDG_CACHE_HOME": str(own / "cache")}
        return self.environment | folders

    def call(self, *arguments: str, host: str | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "orchestrator", "fleet", *arguments],
            cwd=self.folder,
            env=self.environment if host is None else self.environment_of(host),
            capture_output=True,
            text=True,
            check=False,
        )

    def join(self, name: str, *options: str) -> "subprocess.CompletedProcess[str]":
        token = str(self.state.token_file)
        words = ("join", self.address, "--token-file", token, "--name", name, *options)
        return self.call(*words, host=name)

    def transport(self, exclusive: bool = True) -> RayTransport:
        program = ("python", str(self.folder / "program.py"), str(self.folder / "said"))
        token = self.state.token_file
        return RayTransport(self.address, token, program=program, exclusive=exclusive)


@dataclass(frozen=True)
class OneHost:
    """A transport of which one host alone is used; a copy in another process connects anew."""

    cluster: Cluster
    program: tuple[str, ...]
    host: str
    name: TransportName = "ray"

    @cached_property
    def transport(self) -> RayTransport:
        token = self.cluster.state.token_file
        return RayTransport(self.cluster.address, token, program=self.program)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "transport"}

    def hosts(self) -> list[FleetHost]:
        return [host for host in self.transport.hosts() if host.name == self.host]

    def begin(self, host: str) -> Conversation:
        return self.transport.begin(host)

    def is_dead(self, host: str) -> bool:
        return self.transport.is_dead(host)

    def close(self) -> None:
        if "transport" in vars(self):
            self.transport.close()


@contextmanager
def running_cluster(
    folder: Path, *, separate: bool = False, variables: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A head and its hosts; nothing of them is left in the end."""
    if find_spec("ray") is None:
        lacking("Ray, as requirements-fleet.txt has it")
    port = free_port()
    cluster = Cluster(folder, f"127.0.0.1:{port}", separate, variables or {})
    try:
        up = cluster.call("up", "--port", str(port))
        assert up.returncode == 0, up.stderr
        line = f"orchestrator fleet join {cluster.address} --token-file {cluster.state.token_file}"
        assert line in up.stdout.replace(" \\\n", "")
        for name, room in HOSTS.items():
            joined = cluster.join(name, "--label", f"room={room}")
            assert joined.returncode == 0, joined.stderr
        yield cluster
    finally:
        with ThreadPoolExecutor() as together:
            list(together.map(lambda name: cluster.call("leave", "--name", name), HOSTS))
        cluster.call("down")
