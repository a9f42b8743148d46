"""Run a matrix, or finish an earlier run: from the request to the results in the database."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_host, this_machine
from orchestrator.commands.measure.plan import plan_run, run_source, with_exports
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.environment import set_variables
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import Plan
from orchestrator.running.create import create_run, reopen_run
from orchestrator.running.execution import RunExecution, devices_of
from orchestrator.running.folder import RunFolder
from orchestrator.running.interleaved.folders import BothFolders
from orchestrator.running.observer import Observer, describe_interruption
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.run_file import RunSource
from orchestrator.running.traces import failed_traces, saved_traces
from orchestrator.store.store import Store
from runner.contract.errors import EngineUnavailable, NothingToDo, UsageError
from runner.contract.web.browser_choice import BROWSER_VARIABLE, BrowserChoice

if TYPE_CHECKING:
    from orchestrator.commands.results.run_report import RunReport
    from orchestrator.running.interleaved.execution import BothOutcomes
from datetime import UTC, datetime

from orchestrator.system.text import format_age, plural
from runner.contract.errors import StoreError
from runner.contract.record.ids import model_id


def describe_repeat(plan: Plan, launcher: str, database: Path, host: str | None) -> str | None:
    """The newest run on this host that measured cells of this plan, in words; None without one.

    A database that cannot be read now is no obstacle: whoever needs it says so.
    """
    models = {name: model_id(spec.model_dump_json()) for name, spec in plan.models.items()}
    cells = [entry.cell for entry in plan.with_decision("run")]
    if host is None or not database.exists():
        return None
    try:
        with Store.open_readonly(database, wait_s=0) as store:
            wanted = {
                cell.id: (models[cell.model], plan.measure[cell.backend].profile) for cell in cells
            }
            before = store.measured_before(wanted, host, launcher)
    except StoreError:
        return None
    if before is None:
        return None
    age = format_age((datetime.now(UTC) - before.measured_at).total_seconds())
    count = f"{before.cells} of {len(cells)} {plural(len(cells), 'cell')} "
    all_of_them = before.cells == len(cells)
    return (
        f"{'' if all_of_them else count}measured {age} in run {before.run_id};"
        f" `orchestrator run --resume {before.run_id}` fills its gaps, this measures all again"
    )


@dataclass(frozen=True)
class RunResult:
    """A run that has ended: its verdicts, and what went wrong."""

    report: "RunReport"
    outcome: "RunOutcome | BothOutcomes"
    turns: BothFolders | None = None
    """Both folders, if its launches took turns with those of a baseline."""

    @property
    def exit_code(self) -> int:
        """That of the measurements."""
        return self.outcome.exit_code


@dataclass(frozen=True)
class ResumeRequest:
    """An earlier run that shall be finished."""

    run_id: str
    """The run's id; `last` means the newest."""
    results: Path
    """The folder of all runs."""
    matrix: Path | None = None
    """The matrix file, if it was named: it must be the run's own."""
    options: RunOptions = field(default_factory=RunOptions)
    """Launcher, database, budget and when to stop; the rest is the run's own."""


def run_matrix(request: PlanRequest, observer: Observer) -> RunResult:
    """Plan a matrix and measure every cell that can run."""
    plan, source = plan_run(request)
    folder = begin_run(plan, source, request.results, request.options, observer)
    observer.note(str(with_exports(plan, request).sums()))
    if request.options.purpose != "verify":
        repeat = describe_repeat(plan, folder.run.launcher, request.database, this_host())
        if repeat is not None:
            observer.note(repeat)
    return _finish(folder, folder.run.launcher, observer, request.options)


def resume_run(request: ResumeRequest, observer: Observer) -> RunResult:
    """Measure what an earlier run has left."""
    if request.matrix is not None:
        load_matrix(request.matrix)
    source = run_source(request.matrix)
    earlier = RunFolder.open(request.results, request.run_id)
    if earlier.run.host_class is not None:
        name = earlier.run.group_id or earlier.run.run_id
        raise UsageError(
            f"run {earlier.run.run_id} measures one class of a fleet's hosts, not this machine",
            hint=f"`orchestrator run --resume {name} --fleet`",
        )
    if (both := BothFolders.open(request.results, earlier)) is not None:
        return _resume_both(both, source, request.options, observer)
    try:
        folder = reopen_run(request.results, request.run_id, source, request.options.database)
    except NothingToDo:
        _clean_finished(earlier, observer)
        raise
    set_variables(
        folder.run.options.inherit_environ or ()
    )  # else rounds of one cell would differ by them
    requested = request.options.launcher
    launcher = folder.run.launcher if requested == "auto" else requested
    return _finish(folder, choose_launcher(launcher, observer.note), observer, request.options)


def _resume_both(
    folders: BothFolders, source: RunSource, options: RunOptions, observer: Observer
) -> RunResult:
    """Measure what two runs have left whose launches take turns."""
    from orchestrator.commands.measure.interleave import resume_interleaved

    try:
        folders.require_left(source, options.database)
    except NothingToDo:
        _clean_finished(folders.run, observer)
        raise
    set_variables(folders.run.run.options.inherit_environ or ())
    outcome = resume_interleaved(folders, observer, options)
    return RunResult(report_end(folders.run, observer, options), outcome, folders)


def begin_run(
    plan: Plan, source: RunSource, results: Path, options: RunOptions, observer: Observer
) -> RunFolder:
    """The folder of a new run, for which a launcher is chosen."""
    for note in plan.notes:
        observer.note(note)
    launcher = choose_launcher(options.launcher, observer.note)
    drives = any(entry.cell.runtime == "onnxruntime_web" for entry in plan.entries)
    if drives and BrowserChoice.of(os.environ) and launcher != "process":
        observer.note(f"{BROWSER_VARIABLE} chooses for `--launcher process`: images have their own")
    return create_run(plan, source, results, replace(options, launcher=launcher))


def execute_run(
    folder: RunFolder,
    launcher: Launcher,
    observer: Observer,
    options: RunOptions,
    then: Callable[[Store], None] | None = None,
    *,
    earlier_images: bool = False,
) -> RunOutcome:
    """Measure what the folder has left, and merge it into the database, which `then` may ask.

    Jobs that may execute in `earlier_images` have only the fields that their runners know.
    """
    unfinished = set(folder.unfinished())
    observer.run_started(
        {
            entry.cell.id: entry.estimate_s
            for entry in folder.run.plan.entries
            if entry.cell in unfinished
        }
    )
    memory_bytes = this_machine().memory_bytes
    try:
        execution = RunExecution(folder, launcher, observer, options, memory_bytes=memory_bytes)
        execution.earlier_images = earlier_images
        return execution.run(then)
    except KeyboardInterrupt:
        count = len(folder.unfinished())
        observer.note(describe_interruption(f"run {folder.run.run_id}", count))
        observer.note(f"`orchestrator run --resume last{folder.elsewhere}` finishes it")
        raise


class _Occupied(Exception):
    """Another run holds a device, and removes what was left there itself."""


def _clean_finished(folder: RunFolder, observer: Observer) -> None:
    """Remove what a run left that was killed after its last cell."""

    def give_up(device: str, holder: str) -> None:
        raise _Occupied(device, holder)

    devices = devices_of(folder)
    with suppress(EngineUnavailable, _Occupied):
        launcher = make_launcher(folder.run.launcher, observer.image_step)
        with launcher.reserve(devices, f"run {folder.run.run_id}", give_up):
            folder.remove_unfinished()
            launcher.clean(devices)


def _finish(
    folder: RunFolder, launcher: LauncherName, observer: Observer, options: RunOptions
) -> RunResult:
    images = folder.run.options.images
    where = make_launcher(launcher, observer.image_step, chosen=images)
    reports: list[RunReport] = []
    outcome = execute_run(
        folder,
        where,
        observer,
        options,
        lambda store: reports.append(report_merged(folder, observer, store)),
    )
    return RunResult(reports[0], outcome)


def report_end(folder: RunFolder, observer: Observer, options: RunOptions) -> "RunReport":
    with Store.open_readonly(options.database or folder.database) as store:
        return report_merged(folder, observer, store)


def report_merged(folder: RunFolder, observer: Observer, store: Store) -> "RunReport":
    """The report of a run that was merged into this database."""
    from orchestrator.commands.results.run_report import (
        report_stored,  # not before the first launch
    )

    for cell_id, reason in failed_traces(folder).items():
        observer.note(f"{cell_id}: no trace: {reason}")
    report = report_stored(folder.run.run_id, store)
    return replace(report, traces=tuple(saved_traces(folder)))
