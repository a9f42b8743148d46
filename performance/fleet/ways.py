"""Ways to measure on this machine: right here, by a pipe, by ssh, and on hosts of Ray."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.conftest import ROOT
from tests.support.ray_cluster import Cluster, running_cluster
from tests.support.sshd import Sshd, running_sshd
from tests.support.workplace import Workplace

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
    """A way to hosts."""

    name: str
    options: tuple[str, ...] = ()
    """The options that name its hosts; none for a local run."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def user(self, folder: Path) -> Workplace:
        """A user with a folder of their own."""
        folder.mkdir(parents=True, exist_ok=True)
        return Workplace(folder, "process", dict(self.environment))

    def run(self, *options: str) -> list[str]:
        """The arguments of a run of the user's matrix."""
        scratch = ("--scratch", "--launcher", "process", "--seed", "0")
        return ["run", "matrix.yaml", *scratch, *self.options, *options]


def local(folder: Path) -> Way:
    """This machine, without a fleet."""
    return Way("local", environment=_own(folder))


@contextmanager
def by_pipe(folder: Path, names: Sequence[str] = ("a",)) -> Iterator[Way]:
    """Hosts that nothing but a pipe reaches."""
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    _write_program(programs / "ssh", _PIPE)
    hosts = _write_hosts(folder, {name: {"address": name} for name in names})
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    yield Way("pipe", ("--fleet", "--hosts-file", str(hosts)), _own(folder) | path)


@contextmanager
def by_ssh(folder: Path, names: Sequence[str] = ("a",)) -> Iterator[Way]:
    """Hosts that an sshd of this machine reaches."""
    keys = folder / "sshd"
    keys.mkdir(parents=True)
    with running_sshd(keys) as sshd:
        hosts = _write_hosts(folder, {name: _of_sshd(sshd) for name in names})
        yield Way("ssh", ("--fleet", "--hosts-file", str(hosts)), _own(folder))


@contextmanager
def by_ray(folder: Path, *, separate: bool = True) -> Iterator[tuple[Way, Cluster]]:
    """Three hosts of Ray; `separate`: each with caches and device locks of its own."""
    (folder / "ray").mkdir(parents=True)
    with running_cluster(folder / "ray", separate=separate) as cluster:
        yield Way("ray", ("--fleet",), cluster.environment), cluster


@contextmanager
def every_way(folder: Path) -> Iterator[list[Way]]:
    """A local run and one host by each transport."""
    with ExitStack() as stack:
        pipe = stack.enter_context(by_pipe(folder / "pipe"))
        ssh = stack.enter_context(by_ssh(folder / "ssh"))
        ray, _ = stack.enter_context(by_ray(folder))
        one = Way(ray.name, (*ray.options, "--hosts", "alpha"), ray.environment)
        yield [local(folder / "local"), pipe, ssh, one]


def cache_of(folder: Path, name: str) -> Path:
    """The folder of a file's host for its caches, by which its processes are known."""
    return folder / name / "cache"


def _own(folder: Path) -> dict[str, str]:
    """The variables of a user with a state, caches and locks of their own."""
    return {
        "ACCELMATRIX_STATE": str(folder / "state"),
        "ACCELMATRIX_LOCKS": str(folder / "locks"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": str(ROOT),
    }


def _write_hosts(folder: Path, ways: Mapping[str, Mapping[str, object]]) -> Path:
    hosts = []
    for name, way in ways.items():
        own = folder / name
        own.mkdir(parents=True, exist_ok=True)
        facts = {"root": ROOT, "python": sys.executable, "locks": own / "locks"}
        program = own / "python"
        _write_program(program, _PYTHON.format(**facts, cache=cache_of(folder, name)))
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
