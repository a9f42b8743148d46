"""Hosts and drivers that die in the middle of a cell: seconds until somebody knows and acts.

A host that is cut off the network is one whose processes are stopped: nothing of it is heard, and
no connection is closed.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from performance.fleet.commands import Command
from performance.fleet.figures import Figure
from performance.fleet.ways import Way, by_ray, by_ssh, cache_of
from tests.support.workplace import Workplace

KILLED_S = 30.0
"""Most seconds from the death of a raylet to its cells' new beginning."""
CUT_S = 30.0
"""Most seconds from a cut network to the same."""
QUIET_S = 30.0
"""Most seconds for which something of a killed driver still runs."""
LATENCY_S = 1.0
BATCHES = (1, 2, 4)
_BEGUN = r"^([\w.-]+): fake-\S+: \d+ cell"
_IN_CELL_S = 2.0
"""Seconds from a launch until its first cell is surely under way."""


def deaths(folder: Path) -> list[Figure]:
    """Kill a host of Ray, cut off another one, and one of ssh."""
    with by_ray(folder / "ray") as (way, cluster):
        user = way.user(folder / "killed")
        killed = _lost(user, way, KILLED_S, "Ray, raylet killed", cluster.kill)
        user = way.user(folder / "cut")
        cut = _lost(user, way, CUT_S, "Ray, cut off", lambda host: _stop(cluster.processes(host)))
    with by_ssh(folder / "ssh", ("a", "b")) as way:
        stop = _stopper(folder / "ssh")
        try:
            ssh = _lost(way.user(folder / "ssh-cut"), way, CUT_S, "ssh, cut off", stop)
        finally:
            _end(folder / "ssh")
    return [*killed, *cut, *ssh]


def killed(folder: Path) -> list[Figure]:
    """Kill a driver with work on three hosts, and finish its run."""
    with by_ray(folder / "ray") as (way, cluster):
        user = way.user(folder / "user")
        user.write_matrix(models=4, batch_sizes=BATCHES, latency_s=LATENCY_S)
        run = Command(user, *way.run())
        run.until(r"^\[2/12\]")
        moment = run.kill()
        quiet_s = _seconds_until(lambda: not programs_of(cluster.folder), moment)
        done = {path: path.stat().st_mtime_ns for path in user.records()}
        resumed = ("run", "--resume", "last", "--scratch", *way.options)
        Command(user, *resumed).end()
        repeated = sum(path.stat().st_mtime_ns != then for path, then in done.items())
        left = len(set(user.planned())) - len(user.verdicts())
    return [
        Figure("driver killed: until nothing of it runs on a host", quiet_s, "s", QUIET_S),
        Figure("driver killed: cells that were finished", len(done), ""),
        Figure("--resume: finished cells that it repeats", repeated, "", 0),
        Figure("--resume: planned cells without a verdict", left, "", 0),
    ]


def programs_of(folder: Path) -> list[psutil.Process]:
    """Host programs and runners whose caches lie in this folder."""
    return [process for process in psutil.process_iter() if _is_program(process, folder)]


def _is_program(process: psutil.Process, folder: Path) -> bool:
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        cache = process.environ().get("XDG_CACHE_HOME", "")
        is_ours = "fleet execute" in words or "-m runner" in words
        return is_ours and cache.startswith(str(folder))
    return False


def _lost(
    user: Workplace, way: Way, bar_s: float, name: str, strike: Callable[[str], None]
) -> list[Figure]:
    """Strike the host of a run's only unit, in its first cell."""
    user.write_matrix(models=1, batch_sizes=BATCHES, latency_s=LATENCY_S)
    run = Command(user, *way.run())
    begun = run.until(_BEGUN)
    host = _host(begun.text)
    time.sleep(_IN_CELL_S)
    moment = time.monotonic()
    strike(host)
    lost = run.until(rf"^{host}: lost with ")
    elsewhere = run.until(rf"^(?!{host}: )[\w.-]+: fake-\S+: \d+ cell", since=lost)
    run.end()
    left = len(user.planned()) - len(user.verdicts())
    return [
        Figure(f"{name}: until it is known", lost.at_s - moment, "s", bar_s),
        Figure(f"{name}: until its cells begin elsewhere", elsewhere.at_s - moment, "s", bar_s),
        Figure(f"{name}: planned cells without a verdict", left, "", 0),
    ]


def _host(line: str) -> str:
    match = re.match(_BEGUN, line)
    assert match is not None
    return match[1]


def _stop(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            os.kill(process.pid, signal.SIGSTOP)


def _stopper(folder: Path) -> Callable[[str], None]:
    """What stops a host of the sshd: its session, its host program and the runner."""
    return lambda host: _stop(_served(cache_of(folder, host)))


def _end(folder: Path) -> None:
    """End what is stopped, which no sshd ends any more."""
    for process in _served(folder):
        with suppress(psutil.Error):
            process.kill()


def _served(folder: Path) -> list[psutil.Process]:
    """Programs whose caches lie in this folder, after the sessions of ssh that they serve."""
    programs = programs_of(folder)
    return [*(one for program in programs for one in _sessions(program)), *programs]


def _sessions(program: psutil.Process) -> list[psutil.Process]:
    """The sshd that serves a program's connection."""
    ancestors = [one for one in program.parents() if one.name().startswith("sshd")]
    return ancestors[:1]  # the next one listens for other hosts


def _seconds_until(condition: Callable[[], bool], moment: float) -> float:
    deadline = moment + 2 * QUIET_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return time.monotonic() - moment
