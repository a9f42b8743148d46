"""Measurements on a host of a fleet against local ones, and what its daemons take meanwhile."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psutil
import yaml

from orchestrator.fleet.transports.ray_daemons import living
from orchestrator.store import read_record
from performance.fleet.commands import Command
from performance.fleet.deaths import programs_of
from performance.fleet.figures import Figure
from performance.fleet.ways import Way, by_ray, by_ssh, local
from runner.contract.record import Record
from tests.support.ray_cluster import Cluster
from tests.support.workplace import Workplace

TURNS = 3
"""Each of two local runs and one on the fleet."""
DAEMON = 0.01
"""Most of a core that daemons and the host program may take while a cell is timed."""
WATCHED_S = 20.0
MATRIX = {
    "version": 1,
    "axes": {"model": "bert-tiny", "backend": "cpu", "batch_size": 1, "sequence_length": 32},
    "measure": {"profile": "quick", "iterations": 200, "min_duration": "2s", "max_duration": "4s"},
}


def medians(folder: Path) -> list[Figure]:
    """Measure bert-tiny on the processor here, here again, and by ssh, in turns."""
    ours: list[float] = []
    theirs: list[float] = []
    with by_ssh(folder / "ssh") as way:
        here = local(folder / "ssh")
        for turn in range(TURNS):
            for at, one in enumerate((here, here, way)):
                record = _measured(one, folder / f"user-{turn}-{at}")
                assert record.latency_median_s is not None
                (theirs if one is way else ours).append(record.latency_median_s)
    return medians_figures(ours, theirs)


def medians_figures(ours: Sequence[float], theirs: Sequence[float]) -> list[Figure]:
    """The figures of medians here and on the fleet: it differs as two local runs may."""
    center = median(ours)
    apart = (max(ours) - min(ours)) / center
    return [
        Figure("bert-tiny here: two runs differ by at most", apart * 100, "%"),
        Figure("on the fleet / here", median(theirs) / center, ""),
        Figure("fleet differs", abs(median(theirs) / center - 1) * 100, "%", apart * 100),
    ]


def _measured(way: Way, folder: Path) -> Record:
    user = way.user(folder)
    (folder / "matrix.yaml").write_text(yaml.safe_dump(MATRIX))
    Command(user, *way.run()).end()
    (path,) = user.records()
    return read_record(path)


def daemon(folder: Path) -> list[Figure]:
    """Count what a host's daemons and its host program take of a core in a cell that sleeps."""
    with by_ray(folder / "ray") as (way, cluster):
        user = way.user(folder / "user")
        user.write_matrix(models=1, batch_sizes=[1], latency_s=WATCHED_S)
        run = Command(user, *way.run("--hosts", "alpha"))
        run.until(r"^alpha: fake-")
        shares = _shares(cluster, "alpha")
        _end(run, user)
    return [
        Figure("Ray's daemons and relay on a host", shares[0] * 100, "%", DAEMON * 100),
        Figure("the host program", shares[1] * 100, "%"),
    ]


def _shares(cluster: Cluster, host: str) -> tuple[float, float]:
    """Shares of a core that daemons took, and the host program without its jobs."""
    (member,) = (one for one in cluster.state.hosts() if one.name == host)
    programs = {one.pid for one in programs_of(cluster.folder / host)}
    family = living(member.owner, member.processes)
    daemons = [one for one in family if one.pid not in programs]
    hosts = [psutil.Process(pid) for pid in programs if _is_host_program(pid)]
    time.sleep(3)  # the launch is over
    before, began = (_spent_s(daemons), _spent_s(hosts)), time.monotonic()
    time.sleep(WATCHED_S)
    wall_s = time.monotonic() - began
    after = (_spent_s(daemons), _spent_s(hosts))
    return (after[0] - before[0]) / wall_s, (after[1] - before[1]) / wall_s


def _is_host_program(pid: int) -> bool:
    return "fleet execute" in " ".join(psutil.Process(pid).cmdline())


def _spent_s(processes: Sequence[psutil.Process]) -> float:
    """Processor seconds of these processes, without those of children that have ended."""
    return sum(sum(process.cpu_times()[:2]) for process in processes if process.is_running())


def _end(run: Command, user: Workplace) -> None:
    """End a run whose rest nobody needs."""
    run.process.terminate()
    run.status()
    del user
