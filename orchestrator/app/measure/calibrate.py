"""Calibration of this machine: how much fresh processes of one cell differ, by runtime."""

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.app.measure.plan import plan_run
from orchestrator.app.measure.request import PlanRequest
from orchestrator.app.measure.run import begin_run, execute_run
from orchestrator.app.measure.verify import verify_matrix
from orchestrator.app.setup.doctor import runnable
from orchestrator.backends.machine import this_host
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.running.calibration import Spreads, save_spreads, spread_key
from orchestrator.running.execution import RunOutcome
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.errors import Unavailable
from runner.contract.job import Measure, ProcessSpread

PROCESSES = 8
CALIBRATED_MODEL = "bert-tiny"
MEASURE = Measure(
    profile="quick",
    warmup_iterations=3,
    warmup_max_s=6,
    iterations=10 * PROCESSES,
    min_s=PROCESSES,
    max_s=10 * PROCESSES,
    precision_target=0.05,
    rounds=PROCESSES,
)
"""A second of iterations in each process."""


@dataclass(frozen=True)
class CalibrateRequest:
    """A request to calibrate this machine."""

    results: Path = RESULTS_FOLDER
    """The folder of all runs."""
    options: RunOptions = field(default_factory=RunOptions)
    """Launcher and database."""
    command: str = ""
    """The command line."""


@dataclass(frozen=True)
class CalibrateResult:
    """The spreads that were found, and the end of the run that found them."""

    spreads: Spreads
    path: Path | None
    """The file that keeps them; None if there are none."""
    outcome: RunOutcome


def calibrate(request: CalibrateRequest, observer: Observer) -> CalibrateResult:
    """Measure a small model in fresh processes of every runtime, and keep what they differ by.

    Raises:
        Unavailable: nothing can tell which machine this is.
        UsageError: no backend runs here.
        EngineUnavailable: containers were asked for and no engine answers.
        StoreError: the results folder or the database cannot be used.
    """
    host = this_host()
    if host is None:
        raise Unavailable(
            "this machine does not tell its processor and memory, so nothing can be kept for it"
        )
    launcher = choose_launcher(request.options.launcher, observer.note)
    matrix = verify_matrix([CALIBRATED_MODEL], runnable(launcher), modes=["inference"])
    matrix = matrix.model_copy(update={"measure": dict.fromkeys(matrix.measure, MEASURE)})
    options = request.options.model_copy(update={"launcher": launcher, "purpose": "time"})
    plan, source = plan_run(
        PlanRequest(matrix, results=request.results, options=options, command=request.command)
    )
    folder = begin_run(plan, source, request.results, options, observer)
    outcome = execute_run(folder, make_launcher(launcher, observer.build_step), observer, options)
    spreads = spreads_of(folder)
    path = save_spreads(request.results, host, spreads) if spreads else None
    return CalibrateResult(spreads, path, outcome)


def spreads_of(folder: RunFolder) -> Spreads:
    """The spread of fresh processes in this run, by backend and runtime."""
    records = folder.sound_records()
    return {
        spread_key(cell): ProcessSpread(
            cv=record.latency_between_process_cv,
            processes=record.rounds,
            measured_at=record.recorded_at,
        )
        for cell in folder.cells
        if (record := records.get(cell.id)) is not None
        and record.latency_between_process_cv is not None
        and record.rounds is not None
    }
