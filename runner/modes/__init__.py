"""What is measured: one file per mode and scenario, over a backend's session."""

from collections.abc import Callable, Mapping

from runner.backends.base import Session
from runner.contract.cell import Cell, Mode, Scenario
from runner.contract.job import Job
from runner.contract.rounds import RoundResult
from runner.measure.clock import Clock
from runner.modes.base import ColdModeFunction, Instruments, ModeFunction, Workload
from runner.modes.generation import GenerationWorkload
from runner.modes.inference import InferenceWorkload
from runner.modes.offline import measure_offline
from runner.modes.server.mode import measure_server
from runner.modes.startup.mode import measure_startup
from runner.modes.steady import measure_steadily
from runner.modes.training import TrainingWorkload

WORKLOADS: Mapping[Mode, Callable[[Session, Job, Cell, Clock], Workload]] = {
    "inference": InferenceWorkload,
    "generation": GenerationWorkload,
    "training": TrainingWorkload,
    "startup": InferenceWorkload,
}
"""What one iteration of a mode is, once the model is loaded."""

SCENARIOS: Mapping[Scenario, ModeFunction] = {"offline": measure_offline, "server": measure_server}
"""Scenarios that are more than one query behind the other."""

COLD_MODES: Mapping[Mode, ColdModeFunction] = {"startup": measure_startup}
"""Modes that must run before anything is loaded here."""


def workload_of(session: Session, job: Job, cell: Cell, clock: Clock) -> Workload:
    """The cell's workload, bound."""
    return WORKLOADS[cell.mode](session, job, cell, clock)


def measure_warm(session: Session, job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
    """Measure one round of a cell over a loaded session."""
    if cell.scenario in SCENARIOS:
        return SCENARIOS[cell.scenario](session, job, cell, instruments)
    return measure_steadily(
        lambda: workload_of(session, job, cell, instruments.clock), session, job, instruments
    )


__all__ = ["COLD_MODES", "measure_warm", "workload_of"]
