"""Ray's daemons on this machine: started with a time limit, found by their mark, ended.

`ray stop` would end every Ray of the machine. Ours carry a random word in their environment, which
what they start inherits.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from orchestrator.fleet.membership import StartedProcess
from orchestrator.fleet.transports.ray_settings import OWNER_VARIABLE
from runner.contract.errors import Unavailable

START_LIMIT_S = 60.0
"""Ray waits more than ten minutes for a head that is gone."""
END_LIMIT_S = 15.0
"""Seconds for host programs to remove what they made, before they are killed."""
_NICENESS = 10
_CLOCK_S = 1.0
"""Seconds by which two readings of a process's start may differ."""
_RAYLET = "raylet"
_REASONS: Sequence[tuple[str, str, str]] = (
    (
        "InvalidAuthToken",
        "the head refuses this token",
        "copy the head's token anew: `orchestrator fleet up` named its file",
    ),
    (
        "Unauthenticated",
        "the head refuses this token",
        "copy the head's token anew: `orchestrator fleet up` named its file",
    ),
    (
        "already running at",
        "another Ray has this address",
        "name another port, e.g. `--port 6480`",
    ),
    ("Version mismatch", "the head runs another version of Ray or Python", "install the head's"),
)
"""A word of Ray's output, what it means, and what helps."""


def start_daemons(
    command: Sequence[str], environment: Mapping[str, str], subject: str, limit_s: float
) -> tuple[StartedProcess, ...]:
    """Start the daemons of a head or a host, and wait until Ray says that they run.

    Args:
        command: Ray's command line.
        environment: the variables to add, with the mark.
        subject: the head or the host, for messages.
        limit_s: seconds after which what was begun is ended.

    Raises:
        Unavailable: it did not start; nothing of it is left.
    """
    owner = environment[OWNER_VARIABLE]
    variables = {name: text for name, text in os.environ.items() if _is_inherited(name)}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            code = subprocess.run(
                command,
                env={**variables, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit_s,
                check=False,
                start_new_session=True,
            ).returncode
        except subprocess.TimeoutExpired as error:
            end_daemons(owner, (), limit_s=0)
            raise Unavailable(
                f"{subject}: did not start within {limit_s:.0f} s",
                hint="a wrong token or a firewall between the machines may be the reason: "
                "docs/fleet-security.md lists the ports",
            ) from error
        output.seek(0)
        text = output.read()
    if code:
        end_daemons(owner, (), limit_s=0)
        raise start_refusal(subject, text)
    processes = tuple(map(_started, owned_processes(owner)))
    _renice(living(owner, processes))
    return processes


def owned_processes(owner: str) -> list[psutil.Process]:
    """The processes of this user that carry the mark."""
    return [process for process in psutil.process_iter() if _carries(process, owner)]


def living(owner: str, processes: Sequence[StartedProcess]) -> list[psutil.Process]:
    """The processes of a head or host that still run: those started first, and those they began."""
    first = [process for started in processes if (process := _same(started)) is not None]
    family = {process.pid: process for process in (*first, *owned_processes(owner))}
    for process in list(family.values()):
        with suppress(psutil.Error):  # Ray's programs give themselves names, over their marks
            family |= {child.pid: child for child in process.children(recursive=True)}
    return list(family.values())


def is_running(processes: Sequence[StartedProcess]) -> bool:
    """True if every process that was started at first still runs."""
    return bool(processes) and all(_same(started) is not None for started in processes)


def end_daemons(
    owner: str, processes: Sequence[StartedProcess], limit_s: float = END_LIMIT_S
) -> int:
    """End what was started and nothing else; returns the number of processes.

    Raylets and host programs are asked and get some time, in which a raylet needs its head; what
    is left is killed.
    """
    ours = living(owner, processes)
    first = {started.pid for started in processes}
    asked_first = [
        process for process in ours if process.pid not in first or _launches_jobs(process)
    ]
    for process in asked_first:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    psutil.wait_procs(asked_first, timeout=limit_s)
    left = {*ours, *living(owner, processes)}
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=END_LIMIT_S)
    return len(ours)


def _is_inherited(variable: str) -> bool:
    """True for variables that the daemons take from us: of Ray's, those of TLS alone."""
    return not variable.startswith("RAY_") or variable.startswith(("RAY_TLS_", "RAY_USE_TLS"))


def start_refusal(subject: str, output: str) -> Unavailable:
    """The error that Ray's output stands for."""
    for word, reason, hint in _REASONS:
        if word in output:
            return Unavailable(f"{subject}: {reason}", hint=hint)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return Unavailable(f"{subject}: Ray did not start: {lines[-1] if lines else 'it said nothing'}")


def _carries(process: psutil.Process, owner: str) -> bool:
    try:
        return (
            process.uids().real == os.getuid()
            and process.status() != psutil.STATUS_ZOMBIE
            and process.environ().get(OWNER_VARIABLE) == owner
        )
    except (psutil.Error, OSError):
        return False


def _started(process: psutil.Process) -> StartedProcess:
    return StartedProcess(process.pid, process.create_time())


def _same(started: StartedProcess) -> psutil.Process | None:
    """The process, unless it has ended and its pid is somebody else's."""
    try:
        process = psutil.Process(started.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process if abs(process.create_time() - started.started_s) < _CLOCK_S else None
    except psutil.Error:
        return None


def _launches_jobs(process: psutil.Process) -> bool:
    """True for a raylet, whose main thread starts what jobs inherit their priority from."""
    with suppress(psutil.Error):
        return process.name() == _RAYLET
    return False


def _renice(processes: Sequence[psutil.Process]) -> None:
    """Lower the daemons' priority, but not that of the thread from which jobs inherit theirs."""
    for process in processes:
        with suppress(psutil.Error, OSError):
            launches = _launches_jobs(process)
            for thread in _threads(process.pid):
                if not (launches and thread == process.pid):
                    os.setpriority(os.PRIO_PROCESS, thread, _NICENESS)


def _threads(pid: int) -> Iterator[int]:
    """The ids of a process's threads; itself alone where they have no priority of their own."""
    folder = Path(f"/proc/{pid}/task")
    if not folder.exists():
        yield pid
        return
    yield from (int(path.name) for path in folder.iterdir())
