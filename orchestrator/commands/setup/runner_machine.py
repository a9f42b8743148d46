"""This machine as a self-hosted runner of a CI: what it lacks for numbers that mean something."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import psutil

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.diagnosis import Diagnosis, diagnose
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import format_size
from runner.contract.axes import Backend
from runner.contract.host import SLOW_GOVERNOR, FrequencyPolicy, read_frequency_policy

_PROGRAMS = ("git", "tar", "python3")
"""Programs that the steps of a workflow call."""
_FREE_BYTES = 20 << 30
"""Images of two backends, their layers while they are built, and graphs."""
_BUSY = 0.2
"""Load for each core beyond which something else runs."""
_LISTENER = "Runner.Listener"
"""The process of GitHub's runner that waits for jobs."""

_COLUMNS: tuple[str | Field, ...] = ("check", "ok", *wrapping("found", "what to do"))
Importance = Literal["needed", "for quiet numbers"]


@dataclass(frozen=True)
class RunnerCheck:
    """One thing that was looked at."""

    name: str
    ok: bool
    message: str
    remedy: str | None
    importance: Importance


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
        return all(check.ok for check in self.checks if check.importance == "needed")


def check_runner(
    machine: RunnerMachine | None = None, diagnoses: Sequence[Diagnosis] | None = None
) -> RunnerReport:
    machine = machine or RunnerMachine.here()
    rows = diagnose() if diagnoses is None else diagnoses
    backends = list(dict.fromkeys(row.backend for row in rows if row.runs and not row.simulated))
    known = (label for backend in backends for label in CATALOGUE[backend].runner_labels[2:])
    checks = [*_checks(machine, rows, backends)]
    return RunnerReport(checks, backends, list(dict.fromkeys(known)))


def _check(importance: Importance, name: str, ok: bool, message: str, remedy: str) -> RunnerCheck:
    return RunnerCheck(name, ok, message, None if ok else remedy, importance)


def _checks(
    machine: RunnerMachine, rows: Sequence[Diagnosis], backends: Sequence[Backend]
) -> Iterator[RunnerCheck]:
    needed, quiet = partial(_check, "needed"), partial(_check, "for quiet numbers")
    launched = ", ".join(backends) or "none can be launched"
    yield needed(
        "backends", bool(backends), launched, "`orchestrator doctor` tells what each lacks"
    )
    docker = any(row.runs and row.launcher == "docker" for row in rows)
    engine = "a container engine answers" if docker else "jobs would be processes of the runner"
    yield quiet("containers", docker, engine, "install Docker, and let the runner's user use it")
    missing = [program for program in _PROGRAMS if program not in machine.programs]
    programs = f"missing: {', '.join(missing)}" if missing else ", ".join(_PROGRAMS)
    yield needed("programs", not missing, programs, "install them with the system's packages")
    enough = machine.free_bytes >= _FREE_BYTES
    free = f"{format_size(machine.free_bytes)} free"
    taken = f"images and graphs take up to {format_size(_FREE_BYTES)}"
    yield needed("disk", enough, free, taken)
    user = "root" if machine.user_id == 0 else "not root"
    refusal = "GitHub's runner refuses to be root: make a user of its own"
    yield needed("user", machine.user_id != 0, user, refusal)
    governor = machine.clock.governor or "the kernel shows none"
    yield quiet("governor", not machine.clock.keeps_clocks_low, governor, SLOW_GOVERNOR)
    load = f"{machine.load:.2f} a core"
    yield quiet("load", machine.load <= _BUSY, load, "stop what else runs on it")
    others = f"{machine.listeners} registered here"
    remedy = "leave one: two jobs at once disturb each other"
    yield quiet("runners", machine.listeners <= 1, others, remedy)


def print_runner(report: RunnerReport, *, as_json: bool) -> None:
    """Every check with its remedy, and the labels to register the runner with."""
    if as_json:
        checks = [vars(check) for check in report.checks]
        facts = {"backends": [*report.backends], "labels": [*report.labels]}
        print_json({"ready": report.is_ready, **facts, "checks": checks})
        return
    rows = [(check.name, _word(check), check.message, check.remedy) for check in report.checks]
    print_lines(_COLUMNS, rows)
    print_line()
    if report.labels:
        labels = ",".join(report.labels)
        print_line(f"labels: {labels}")
        print_line(f"./config.sh --url https://github.com/OWNER/REPOSITORY --labels {labels}")


def _word(check: RunnerCheck) -> str:
    if check.ok:
        return "yes"
    return "no" if check.importance == "needed" else "better not"
