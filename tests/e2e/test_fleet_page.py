"""docs/fleet.md does what it says: its commands, one after the other, on hosts of this machine.

Each machine of the page is a folder with a state and a cache of its own. They share the locks of
the processor, which they share as well.
"""

import getpass
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.ports import free_port
from tests.support.ray_cluster import end_ray, start_ray
from tests.support.sshd import running_sshd

PAGE = Page(ROOT / "docs/fleet.md")
ADDRESS, PORT = "192.0.2.7", "6379"
"""The head's address on the page, and its port."""
MACHINES = ("lab1", "lab2", "lab3")
LIMIT_S = 1200
VARIABLES = dict(
    word.split("=", 1)
    for block in PAGE.blocks("text")
    for line in block.text.splitlines()
    if line.startswith("export RAY_") and "RAY_ADDRESS" not in line
    for word in line.split()[1:]
)
"""Those that the page sets for Ray."""


@dataclass(frozen=True)
class Typed:
    """A command of the page, and the machine on which it is typed."""

    machine: str
    words: tuple[str, ...]


def commands() -> Iterator[Typed]:
    machine = None
    for line in PAGE.shell_lines():
        if line.startswith("# on "):
            machine = line.removeprefix("# on ")
        elif line.startswith(("orchestrator ", "ray ")):
            assert machine in MACHINES, f"{line}: on which machine?"
            yield Typed(machine, tuple(shlex.split(line, comments=True)))


COMMANDS = list(commands())


def test_the_page_goes_from_bare_machines_to_a_database() -> None:
    started = [(one.machine, one.words[2]) for one in COMMANDS[:3] if one.words[0] == "ray"]
    address = f"--address={ADDRESS}:{PORT}"
    assert started == [("lab1", "--head"), ("lab2", address), ("lab3", address)]
    assert {one.words[1] for one in COMMANDS[3:]} >= {"fleet", "plan", "run", "status"}


@dataclass(frozen=True)
class Machines:
    """The page's machines, as folders of this one."""

    folder: Path
    port: int
    sockets: Path
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def type(self, typed: Typed) -> str:
        """Type a command, which ends well; returns what it printed."""
        own = self.folder / typed.machine
        own.mkdir(exist_ok=True)
        words = [word.replace(PORT, str(self.port)) for word in typed.words]
        words = [word.replace(ADDRESS, "127.0.0.1") for word in words]
        environment = self.environment(typed.machine)
        if words[0] == "ray":
            more = (f"--port={self.port}", f"--temp-dir={self.sockets}")
            words = [*words[1:], *(more if "--head" in words else ())]
            del environment["RAY_ADDRESS"]
            self.started.append(start_ray(words, environment, own / "ray.log"))
            return ""
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=own,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{typed.machine}: {words}\n{done.stdout}{done.stderr}"
        return done.stdout

    def environment(self, machine: str) -> dict[str, str]:
        """Its own state and cache, and no container engine."""
        own = self.folder / machine
        kept = {name: text for name, text in os.environ.items() if name[:4] != "RAY_"}
        return kept | {
            "ACCELMATRIX_STATE": str(own / "state"),
            "ACCELMATRIX_LOCKS": str(self.folder / "locks"),
            "XDG_CACHE_HOME": str(own / "cache"),
            "DOCKER_HOST": f"unix://{self.folder}/no-engine",
            "PYTHONPATH": str(ROOT),
            "RAY_ADDRESS": f"127.0.0.1:{self.port}",
            "RAY_AUTH_TOKEN": "a-token-of-many-letters-for-tests",
            **VARIABLES,
        }


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path, free_port(), Path(tempfile.mkdtemp(prefix="ray-")))
    (tmp_path / "lab1").mkdir()
    (matrix,) = (block.text for block in PAGE.blocks("yaml") if "axes:" in block.text)
    (tmp_path / "lab1/matrix.yaml").write_text(matrix)
    keys = tmp_path / "keys"
    keys.mkdir()
    try:
        with running_sshd(keys) as sshd:
            write_hosts(machines, keys, sshd.port)
            yield machines
    finally:
        end_ray(machines.started, machines.sockets)


def write_hosts(machines: Machines, keys: Path, port: int) -> None:
    """The page's file of hosts, each of which is this machine by ssh."""
    (block,) = (block.text for block in PAGE.blocks("yaml") if "hosts:\n" in block.text)
    hosts = []
    for host in yaml.safe_load(block)["hosts"]:
        program = machines.folder / f"python-{host['name']}"
        variables = machines.environment(host["name"])
        exports = " ".join(
            f"{name}={variables[name]}"
            for name in ("ACCELMATRIX_LOCKS", "XDG_CACHE_HOME", "DOCKER_HOST", "PYTHONPATH")
        )
        program.write_text(f'#!/bin/sh\nexport {exports}\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
        hosts.append(
            {
                "name": host["name"],
                "address": f"{getpass.getuser()}@127.0.0.1",
                "port": port,
                "identity": str(keys / "user_key"),
                "known_hosts": str(keys / "known_hosts"),
                "python": str(program),
            }
        )
    text = yaml.safe_dump({"version": 1, "hosts": hosts})
    (machines.folder / "lab1/hosts.yaml").write_text(text)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(3000)
def test_every_command_of_the_page_works(machines: Machines) -> None:
    for typed in COMMANDS:
        printed = machines.type(typed)
        if typed.words[1] == "run":
            assert "4 ok" in printed
