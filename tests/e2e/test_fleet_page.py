"""docs/fleet.md does what it says: its commands, one after the other, on hosts of this machine.

Each machine of the page is a folder with a state and a cache of its own. They share the locks of
the processor, which they share as well.
"""

import getpass
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.ports import free_port
from tests.support.sshd import running_sshd

PAGE = Page(ROOT / "docs/fleet.md")
ADDRESS, PORT = "192.0.2.7", "6479"
"""The head's address on the page, and its usual port."""
MACHINES = ("lab1", "lab2", "lab3")
LIMIT_S = 1200


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
        elif line.startswith("orchestrator "):
            assert machine in MACHINES, f"{line}: on which machine?"
            yield Typed(machine, tuple(shlex.split(line, comments=True)[1:]))


COMMANDS = list(commands())


def test_the_page_goes_from_bare_machines_to_a_database_and_back() -> None:
    fleet = [(one.machine, one.words[1]) for one in COMMANDS if one.words[0] == "fleet"]
    assert fleet[0] == ("lab1", "up")
    assert fleet[1:3] == [("lab2", "join"), ("lab3", "join")]
    assert {one.words[0] for one in COMMANDS} >= {"fleet", "plan", "run", "status"}
    assert ("lab1", "down") in fleet


@dataclass(frozen=True)
class Machines:
    """The page's machines, as folders of this one."""

    folder: Path
    port: int

    def type(self, typed: Typed) -> "subprocess.CompletedProcess[str]":
        own = self.folder / typed.machine
        own.mkdir(exist_ok=True)
        words = [
            word.replace(f"{ADDRESS}:{PORT}", f"127.0.0.1:{self.port}") for word in typed.words
        ]
        words = [word.replace(ADDRESS, "127.0.0.1") for word in words]
        if words[:2] == ["fleet", "up"]:
            words += ["--port", str(self.port)]
        return subprocess.run(
            [sys.executable, "-m", "orchestrator", *words],
            cwd=own,
            env=self.environment(typed.machine),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

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
        }

    def copy_token(self) -> None:
        """Do what the page does by `scp -p`."""
        for name in MACHINES[1:]:
            (self.folder / name).mkdir(exist_ok=True)
            shutil.copy2(self.folder / "lab1/state/fleet/token", self.folder / name / "token")

    def end(self) -> None:
        """End what is left of the fleet."""
        for name in MACHINES[1:]:
            self.type(Typed(name, ("fleet", "leave")))
        self.type(Typed("lab1", ("fleet", "down")))


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path, free_port())
    (tmp_path / "lab1").mkdir()
    (matrix,) = (block.text for block in PAGE.blocks("yaml") if "axes:" in block.text)
    (tmp_path / "lab1/matrix.yaml").write_text(matrix)
    keys = tmp_path / "keys"
    keys.mkdir()
    with running_sshd(keys) as sshd:
        write_hosts(machines, keys, sshd.port)
        yield machines
    machines.end()


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
        done = machines.type(typed)
        assert done.returncode == 0, f"{typed.machine}: {typed.words}\n{done.stdout}{done.stderr}"
        if typed.words[:2] == ("fleet", "up"):
            machines.copy_token()
        if typed.words[0] == "run":
            assert "4 ok" in done.stdout
