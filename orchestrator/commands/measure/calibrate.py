"""Calibration of this machine: how much fresh processes of one cell differ, by runtime."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path

from analysis.results.table import Field
from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_host
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.measure.run import begin_run
from orchestrator.commands.measure.verify import verify_matrix
from orchestrator.launchers.diagnosis import diagnose
from orchestrator.launchers.registry import LAUNCHERS, choose_launcher, make_launcher
from orchestrator.matrix import Matrix
from orchestrator.planning.plan import planned_jobs
from orchestrator.running.calibration import Spreads, save_spreads, spread_key
from orchestrator.running.execution import execute_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import plural
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.job import Measure, ProcessSpread
from runner.contract.record.record import Record

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
    side_by_side=False,
)
"""A second of iterations in each process, alone."""
BUSY = 0.05
"""Share of the CPUs that others may use meanwhile; a daemon or two take less."""


@dataclass(frozen=True)
class CalibrateResult:
    """The spreads that were found, and the end of the run that found them."""

    spreads: Spreads
    path: Path | None
    outcome: RunOutcome
    other_load: float = 0.0
    """The largest share of the CPUs that others used beside a runtime."""


def calibrate(
    results: Path, options: RunOptions, command: str, observer: Observer
) -> CalibrateResult:
    """Measure a small model in fresh processes of every runtime, and keep what they differ by."""
    host = this_host()
    if host is None:
        raise Unavailable(
            "this machine does not tell its processor and memory, so nothing can be kept for it"
        )
    launcher = choose_launcher(options.launcher, observer.note)
    matrix = calibration_matrix(launcher)
    options = replace(options, launcher=launcher, no_verify=True)
    request = PlanRequest(matrix, results=results, options=options, command=command)
    plan, source = plan_run(request)
    folder = begin_run(plan, source, results, options, observer)
    jobs = planned_jobs(plan)
    minutes = ceil(sum(job.estimate_s for job in jobs) / 60)
    processes = max((job.measure.rounds for job in jobs), default=0)
    runtimes = f"{len(jobs)} {plural(len(jobs), 'runtime')}"
    observer.note(f"calibrating: {processes} processes of {runtimes}, about {minutes} min")
    outcome = execute_run(folder, make_launcher(launcher, observer.image_step), observer, options)
    records = folder.sound_records()
    spreads = spreads_of(folder.cells, records)
    path = save_spreads(results, host, spreads) if spreads else None
    return CalibrateResult(spreads, path, outcome, other_load_of(records))


def calibration_matrix(launcher: LauncherName) -> Matrix:
    """A small model on every runtime of the devices that this launcher reaches here.

    What a simulator's processes differ by says nothing of the device in whose place it stands.
    """
    diagnoses = diagnose(launchers=[LAUNCHERS[launcher]])
    backends = [row.backend for row in diagnoses if row.runs and not row.simulated]
    matrix = verify_matrix({"model": [CALIBRATED_MODEL], "mode": ["inference"]}, backends)
    return matrix.model_copy(update={"measure": dict.fromkeys(matrix.measure, MEASURE)})


def spreads_of(cells: Iterable[Cell], records: Mapping[str, Record]) -> Spreads:
    return {
        spread_key(cell, record.hardware_id): spread
        for cell in cells
        if (record := records.get(cell.id)) is not None
        and record.hardware_id is not None
        and (spread := _spread_of(record)) is not None
    }


def _spread_of(record: Record) -> ProcessSpread | None:
    """The spread of fresh processes that are far apart in time; None if the record tells none.

    Those that are near in time differ by less.
    """
    cv, count = record.latency_between_process_cv, record.rounds
    effective = record.effective_rounds
    if cv is None or count is None or effective is None:
        return None
    return ProcessSpread(
        # The sample's variance has a share of 1 - ρ of the variance of one on average.
        cv=cv / sqrt(effective * count / (count + (count - 1) * effective)),
        processes=count,
        degrees=record.round_degrees,
        measured_at=record.recorded_at,
    )


def other_load_of(records: Mapping[str, Record]) -> float:
    loads = (record.noise_other_load or 0.0 for record in records.values())
    return max(loads, default=0.0)


def print_calibration(result: CalibrateResult, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {path: spread.model_dump(mode="json") for path, spread in result.spreads.items()}
        )
        return
    rows = [
        (*path.split("/"), spread.processes, f"{spread.cv * 100:.1f}")
        for path, spread in sorted(result.spreads.items())
    ]
    if not rows:
        print_line("No runtime was measured, so nothing is kept.")
        return
    differ = Field("differ by %", right=True)
    print_lines(("backend", "runtime", "hardware_id", "processes", differ), rows)
    print_line()
    print_line(
        f"Records of one process use this for their intervals from now on; {result.path} keeps it."
    )
    if result.other_load > BUSY:
        print_line(
            f"Others used up to {result.other_load * 100:.0f} % of the CPUs meanwhile, which makes"
            " processes differ by more: stop what else runs and calibrate again."
        )
