"""Registry of modes and scenarios."""

from collections.abc import Callable, Mapping
from functools import partial

from runner.backends.base import Session
from runner.contract.axes import Mode, Scenario
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.rounds import RoundResult
from runner.measure.clock import Clock
from runner.modes.base import (
    ColdModeFunction,
    InferenceWorkload,
    Instruments,
    ModeFunction,
    Workload,
    measure_steadily,
)
from runner.modes.generation import GenerationWorkload
from runner.modes.offline import measure_offline
from runner.modes.server.mode import measure_server
from runner.modes.startup.mode import measure_startup
from runner.modes.training import TrainingWorkload

_WORKLOADS: Mapping[Mode, Callable[[Session, Job, Cell, Clock], Workload]] = {
    "inference": InferenceWorkload,
    "generation": GenerationWorkload,
    "training": TrainingWorkload,
    "startup": InferenceWorkload,
}

_SCENARIOS: Mapping[Scenario, ModeFunction] = {"offline": measure_offline, "server": measure_server}

COLD_MODES: Mapping[Mode, ColdModeFunction] = {"startup": measure_startup}
"""Modes that must run before anything is loaded here."""


def workload_of(session: Session, job: Job, cell: Cell, clock: Clock) -> Workload:
    return _WORKLOADS[cell.mode](session, job, cell, clock)


def measure_warm(session: Session, job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
    if cell.scenario in _SCENARIOS:
        return _SCENARIOS[cell.scenario](session, job, cell, instruments)
    make = partial(workload_of, session, job, cell, instruments.clock)
    return measure_steadily(make, session, job, instruments)
