"""This machine as a self-hosted runner of a CI: what it lacks for numbers that mean something."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.diagnosis import Diagnosis, diagnose
from orchestrator.system.text import format_size
from runner.contract.cell import Backend
from runner.contract.host import SLOW_GOVERNOR, FrequencyPolicy, read_frequency_policy

_PROGRAMS = ("git", "tar", "python3")
"""Programs that the steps of a workflow call."""
_FREE_BYTES = 20 << 30
"""Images of two backends, their layers while they are built, and graphs."""
_BUSY = 0.2
"""Load for each core beyond which something else runs."""
_LISTENER = "Runner.Listener"
"""The process of GitHub's runner that waits for jobs."""

Importance = Literal["needed", "for quiet numbers"]


@dataclass(frozen=True)
class RunnerCheck:
    """One thing that was looked at."""

    name: str
    ok: bool
    message: str
    """The finding."""
    remedy: str | None = None
    importance: Importance = "needed"


@dataclass(frozen=True)
class RunnerMachine:
    """The facts about a machine that decide how good a runner it is."""

    clock: FrequencyPolicy
    programs: Sequence[str]
    """Those of the needed programs that are found."""
    free_bytes: int
    """In the folder that jobs would work in."""
    load: float
    """Mean number of processes that ran in the last minute, by core."""
    listeners: int
    """Runners that wait for jobs here already."""
    user_id: int

    @classmethod
    def here(cls) -> "RunnerMachine":
        names = (process.info["name"] for process in psutil.process_iter(["name"]))
        return cls(
            clock=read_frequency_policy(),
            programs=[program for program in _PROGRAMS if shutil.which(program)],
            free_bytes=shutil.disk_usage(Path.cwd()).free,
            load=os.getloadavg()[0] / (os.cpu_count() or 1),
            listeners=sum(name == _LISTENER for name in names),
            user_id=os.getuid(),
        )


@dataclass(frozen=True)
class RunnerReport:
    """The worth of this machine as a runner."""

    checks: Sequence[RunnerCheck]
    backends: Sequence[Backend]
    """Those whose jobs could be launched now."""
    labels: Sequence[str]
    """The labels by which plans find it, without those that GitHub gives itself."""

    @property
    def is_ready(self) -> bool:
        """True if nothing is missing that a job needs."""
        return all(check.ok for check in self.checks if check.importance == "needed")


def check_runner(
    machine: RunnerMachine | None = None, diagnoses: Sequence[Diagnosis] | None = None
) -> RunnerReport:
    """Look at this machine as a runner."""
    machine = machine or RunnerMachine.here()
    rows = diagnose() if diagnoses is None else diagnoses
    backends = list(dict.fromkeys(row.backend for row in rows if row.runs and not row.simulated))
    known = (label for backend in backends for label in CATALOGUE[backend].runner_labels[2:])
    checks = (*_backends(rows, backends), *_needed(machine), *_quiet(machine))
    return RunnerReport(checks, backends, list(dict.fromkeys(known)))


def _backends(rows: Sequence[Diagnosis], backends: Sequence[Backend]) -> Iterator[RunnerCheck]:
    containers = [row.backend for row in rows if row.runs and row.launcher == "docker"]
    yield RunnerCheck(
        "backends",
        bool(backends),
        ", ".join(backends) or "none can be launched",
        None if backends else "`orchestrator doctor` tells what each lacks",
    )
    yield RunnerCheck(
        "containers",
        bool(containers),
        "a container engine answers" if containers else "jobs would be processes of the runner",
        None if containers else "install Docker, and let the runner's user use it",
        "for quiet numbers",
    )


def _needed(machine: RunnerMachine) -> Iterator[RunnerCheck]:
    missing = [program for program in _PROGRAMS if program not in machine.programs]
    yield RunnerCheck(
        "programs",
        not missing,
        f"missing: {', '.join(missing)}" if missing else ", ".join(_PROGRAMS),
        "install them with the system's packages" if missing else None,
    )
    enough = machine.free_bytes >= _FREE_BYTES
    yield RunnerCheck(
        "disk",
        enough,
        f"{format_size(machine.free_bytes)} free",
        None if enough else f"images and graphs take up to {format_size(_FREE_BYTES)}",
    )
    is_root = machine.user_id == 0
    yield RunnerCheck(
        "user",
        not is_root,
        "root" if is_root else "not root",
        "GitHub's runner refuses to be root: make a user of its own" if is_root else None,
    )


def _quiet(machine: RunnerMachine) -> Iterator[RunnerCheck]:
    is_slow = machine.clock.keeps_clocks_low
    yield RunnerCheck(
        "governor",
        not is_slow,
        machine.clock.governor or "the kernel shows none",
        SLOW_GOVERNOR if is_slow else None,
        "for quiet numbers",
    )
    idle = machine.load <= _BUSY
    yield RunnerCheck(
        "load",
        idle,
        f"{machine.load:.2f} a core",
        None if idle else "stop what else runs on it",
        "for quiet numbers",
    )
    alone = machine.listeners <= 1
    yield RunnerCheck(
        "runners",
        alone,
        f"{machine.listeners} registered here",
        None if alone else "leave one: two jobs at once disturb each other",
        "for quiet numbers",
    )
