"""The default matrix on real processors: three hosts of Ray of which one dies, ssh, and Slurm."""

import getpass
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.support.ray_cluster import running_cluster
from tests.support.slurm import running_slurm
from tests.support.sshd import running_sshd
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(3000)]

LONG_S = 2400
"""Seconds in which the default matrix is measured, also on a busy machine."""
OPTIONS = ("--launcher", "process", "--seed", "0", "--fleet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    return tmp_path


def finished(user: Workplace, *options: str, kill: Callable[[str], None] | None = None) -> None:
    """Run the matrix to its end; every planned cell is ok, and recorded as by a fleet."""
    run = user.start("run", "matrix.yaml", *OPTIONS, *options)
    said = "" if kill is None else after_two_cells(run, kill)
    _, rest = run.communicate(timeout=LONG_S)
    assert run.returncode == 0, said + rest
    user.check("ok")
    assert len(user.verdicts()) == 13
    rows = user.ask("SELECT transport FROM benchmark_results")
    assert {row["transport"] for row in rows} <= {"ray", "ssh", "slurm"}


def after_two_cells(run: "subprocess.Popen[str]", kill: Callable[[str], None]) -> str:
    """Kill the next host that begins a job once two cells have a verdict; returns what was said."""
    assert run.stderr is not None
    said, verdicts = "", 0
    for line in run.stderr:
        said += line
        host, _, rest = line.partition(": ")
        verdicts += line.startswith("[")
        if verdicts >= 2 and rest.startswith(("cpu-", "openvino-")):
            kill(host)
            return said
    raise AssertionError(said)


def test_three_hosts_of_ray_of_which_one_is_killed(folder: Path) -> None:
    (folder / "ray").mkdir()
    with running_cluster(folder / "ray") as cluster:
        user = Workplace(folder, "process", cluster.environment)
        finished(user, kill=cluster.kill)


def two_hosts(folder: Path, entries: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """A file with two hosts, each with caches of its own and the locks of one machine."""
    hosts = []
    for name, entry in entries.items():
        own = folder / name
        own.mkdir()
        program = own / "python"
        variables = {
            "PYTHONPATH": ROOT,
            "XDG_CACHE_HOME": own / "cache",
            "ACCELMATRIX_LOCKS": folder / "locks",
        }
        exports = " ".join(f"{key}={value}" for key, value in variables.items())
        program.write_text(f'#!/bin/sh\nexport {exports}\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
        hosts.append({"name": name, **entry, "python": str(program)})
    (folder / "hosts.yaml").write_text(yaml.safe_dump({"version": 1, "hosts": hosts}))
    return ("--hosts-file", "hosts.yaml")


def test_two_hosts_by_ssh(folder: Path) -> None:
    keys = folder / "keys"
    keys.mkdir()
    with running_sshd(keys) as sshd:
        entry = {
            "address": f"{getpass.getuser()}@127.0.0.1",
            "port": sshd.port,
            "identity": str(keys / "user_key"),
            "known_hosts": str(keys / "known_hosts"),
        }
        finished(Workplace(folder, "process"), *two_hosts(folder, {"a": entry, "b": entry}))


@pytest.mark.engine
def test_two_hosts_by_slurm(engine: None, folder: Path) -> None:
    programs = folder / "slurm"
    programs.mkdir()
    with running_slurm(programs, folder, ("a", "b"), compiles=True):
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        entries = {name: {"partition": "lab", "node": name} for name in ("a", "b")}
        finished(Workplace(folder, "process", path), *two_hosts(folder, entries))
