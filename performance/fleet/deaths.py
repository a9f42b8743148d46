"""Hosts and drivers that die in the middle of a cell: seconds until somebody knows and acts.

A host that is cut off the network is one whose processes are stopped: nothing of it is heard, and
no connection is closed.
"""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from performance.fleet.figures import Figure
from performance.fleet.hosts import Command, by_pipe, by_ssh

CUT_S = 30.0
"""Most seconds from a cut network to its cells' new beginning elsewhere."""
QUIET_S = 30.0
"""Most seconds for which something of a killed driver still runs."""
LATENCY_S = 1.0
BATCHES = (1, 2, 4)
_BEGUN = r"^([\w.-]+): fake-\S+: \d+ cell"
_IN_CELL_S = 2.0
"""Seconds from a launch until its first cell is surely under way."""


def deaths(folder: Path) -> list[Figure]:
    """Cut off the host of a run's only unit, in its first cell."""
    with by_ssh(folder / "ssh", ("a", "b")) as way:
        user = way.user(folder / "user")
        user.write_matrix(models=1, batch_sizes=BATCHES, latency_s=LATENCY_S)
        run = Command(user, *way.run())
        match = re.match(_BEGUN, run.until(_BEGUN).text)
        assert match is not None
        host = match[1]
        time.sleep(_IN_CELL_S)
        moment = time.monotonic()
        try:
            for process in _served(folder / "ssh" / host):
                with suppress(psutil.Error):
                    process.suspend()
            lost = run.until(rf"^{host}: lost with ")
            elsewhere = run.until(rf"^(?!{host}: )[\w.-]+: fake-\S+: \d+ cell", since=lost)
            run.end()
        finally:  # no sshd ends what is stopped
            for process in _served(folder / "ssh"):
                with suppress(psutil.Error):
                    process.kill()
    left = len(user.planned()) - len(user.verdicts())
    return [
        Figure("ssh, cut off: until it is known", lost.at_s - moment, "s", CUT_S),
        Figure("ssh, cut off: until cells begin elsewhere", elsewhere.at_s - moment, "s", CUT_S),
        Figure("ssh, cut off: planned cells without a verdict", left, "", 0),
    ]


def killed(folder: Path) -> list[Figure]:
    """Kill a driver with work on three hosts, and finish its run."""
    way = by_pipe(folder / "hosts", ("a", "b", "c"))
    user = way.user(folder / "user")
    user.write_matrix(models=4, batch_sizes=BATCHES, latency_s=LATENCY_S)
    run = Command(user, *way.run())
    run.until(r"^\[2/12\]")
    moment = run.kill()
    while _programs_of(folder / "hosts") and time.monotonic() < moment + 2 * QUIET_S:
        time.sleep(0.05)
    quiet_s = time.monotonic() - moment
    done = {path: path.stat().st_mtime_ns for path in user.records()}
    Command(user, "run", "--resume", "last", "--scratch", *way.options).end()
    repeated = sum(path.stat().st_mtime_ns != then for path, then in done.items())
    left = len(set(user.planned())) - len(user.verdicts())
    return [
        Figure("driver killed: until nothing of it runs on a host", quiet_s, "s", QUIET_S),
        Figure("driver killed: cells that were finished", len(done), ""),
        Figure("--resume: finished cells that it repeats", repeated, "", 0),
        Figure("--resume: planned cells without a verdict", left, "", 0),
    ]


def _served(folder: Path) -> Sequence[psutil.Process]:
    """Programs whose caches lie in this folder, after the sessions of ssh that they serve."""
    programs = _programs_of(folder)
    # The next ancestor of this name listens for other hosts.
    sessions = [
        next((one for one in program.parents() if one.name().startswith("sshd")), None)
        for program in programs
    ]
    return [*(session for session in sessions if session), *programs]


def _programs_of(folder: Path) -> list[psutil.Process]:
    """Host programs and runners whose caches lie in this folder."""
    return [process for process in psutil.process_iter() if _is_program(process, folder)]


def _is_program(process: psutil.Process, folder: Path) -> bool:
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        cache = process.environ().get("XDG_CACHE_HOME", "")
        is_ours = "fleet execute" in words or "-m runner" in words
        return is_ours and cache.startswith(str(folder))
    return False
