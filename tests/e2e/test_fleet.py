"""A matrix on three hosts of Ray, one of which dies in the middle: each cell is measured."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.running.folder import RunFolder
from tests.support.fleet import soon
from tests.support.ray_cluster import HEAD, Cluster, running_cluster
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

LONG_S = 2.0
"""Seconds of a query where a run must last for the minute after which Ray gives up on a head."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("ray")) as cluster:
        yield cluster


@pytest.fixture
def user(cluster: Cluster, tmp_path: Path) -> Workplace:
    user = Workplace(tmp_path, "process", cluster.environment)
    user.write_matrix(models=3, batch_sizes=[1])
    return user


def until_a_job_runs_on(run: "subprocess.Popen[str]", host: str) -> str:
    """Read the progress until this host has begun; returns what was read."""
    assert run.stderr is not None
    lines = ""
    for line in run.stderr:
        lines += line
        if line.startswith(f"{host}: fake-"):
            return lines
    raise AssertionError(lines)


def resume(user: Workplace) -> None:
    done = user.execute("run", "--resume", "last", "--scratch", "--fleet")
    assert done.returncode == 0, done.stderr


def verdicts(place: Path) -> list[str]:
    return sorted(RunFolder.open(place / "results", "last").verdicts().values())


def processes_of(cluster: Cluster) -> list[str]:
    """Host programs and runners that are still there."""
    running = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if "fleet execute" in words or (f"{cluster.folder}" in words and "runner" in words):
            running.append(words)
    return running


def test_a_run_is_whole_although_a_host_was_killed(cluster: Cluster, user: Workplace) -> None:
    run = user.start(*user.run_arguments("--fleet"))
    lines = until_a_job_runs_on(run, "gamma")
    cluster.kill("gamma")
    _, rest = run.communicate(timeout=300)
    assert run.returncode == 0, lines + rest
    assert verdicts(user.folder) == ["ok"] * 3
    assert "gamma: lost with " in lines + rest


@pytest.mark.nightly
def test_a_killed_driver_leaves_nothing_and_resume_repeats_nothing(
    cluster: Cluster, user: Workplace
) -> None:
    run = user.start(*user.run_arguments("--fleet"))
    until_a_job_runs_on(run, "alpha")
    results = user.folder / "results"
    while not list(results.glob("*/records/*/*.parquet")):
        time.sleep(0.1)
    run.kill()
    run.communicate()
    done = {path: path.stat().st_mtime_ns for path in results.glob("*/records/*/*.parquet")}
    assert soon(lambda: not processes_of(cluster))
    resume(user)
    assert verdicts(user.folder) == ["ok"] * 3
    assert {path: path.stat().st_mtime_ns for path in done} == done


@pytest.mark.nightly
@pytest.mark.timeout(1000)
def test_a_run_whose_head_was_killed_ends_and_goes_on_by_another_head(tmp_path: Path) -> None:
    for name in ("one", "other", "user"):
        (tmp_path / name).mkdir()
    with running_cluster(tmp_path / "one") as cluster:
        user = Workplace(tmp_path / "user", "process", cluster.environment)
        user.write_matrix(models=8, batch_sizes=[1], latency_s=LONG_S)
        run = user.start(*user.run_arguments("--fleet"))
        until_a_job_runs_on(run, "alpha")
        cluster.kill(HEAD)
        _, said = run.communicate(timeout=300)
        assert run.returncode != 0, said
        assert "Traceback" not in said
        assert soon(lambda: not processes_of(cluster))
    with running_cluster(tmp_path / "other") as cluster:
        resume(Workplace(tmp_path / "user", "process", cluster.environment))
    assert verdicts(user.folder) == ["ok"] * 8
