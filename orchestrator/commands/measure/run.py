"""Run a matrix, or finish an earlier run: from the request to the results in the database."""

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_host
from orchestrator.commands.measure.plan import plan_run, source_of, with_exports
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.environment import set_variables
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.create import create_run, reopen_run
from orchestrator.running.execution import devices_of, execute_run
from orchestrator.running.folder import RunFolder
from orchestrator.running.interleaved import BothFolders, BothOutcomes
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.screen.words.reasons import reason_text
from orchestrator.store.store import Store
from orchestrator.system.text import first_line, format_age, plural
from runner.contract.errors import EngineUnavailable, NothingToDo, StoreError, UsageError
from runner.contract.files import TEXT_BYTES, is_plain, read_plain_text
from runner.contract.reasons import parse_reason
from runner.contract.record.ids import model_id
from runner.contract.rounds import NO_TRACE_SUFFIX, TRACE_BYTES, TRACE_SUFFIX, output_path
from runner.contract.web import BROWSER_VARIABLE, BrowserChoice

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionAnswer
    from orchestrator.commands.results.run_report import RunReport


def saved_traces(folder: RunFolder) -> list[Path]:
    paths = (output_path(folder.records / cell.job_id, cell, TRACE_SUFFIX) for cell in folder.cells)
    return sorted(path for path in paths if is_plain(path, TRACE_BYTES))


def failed_traces(folder: RunFolder) -> dict[str, str]:
    """The reasons of traces that are missing, a line each, by the id of the planned cell."""
    lines = {}
    for cell in folder.cells:
        path = output_path(folder.records / cell.job_id, cell, NO_TRACE_SUFFIX)
        if is_plain(path, TEXT_BYTES):
            lines[cell.id] = first_line(reason_text(parse_reason(read_plain_text(path))))
    return lines


def describe_repeat(plan: Plan, launcher: str, database: Path, host: str | None) -> str | None:
    """The newest run on this host that measured cells of this plan, in words; None without one.

    A database that cannot be read now is no obstacle: whoever needs it says so.
    """
    if host is None or not database.exists():
        return None
    models = {name: model_id(spec.content) for name, spec in plan.models.items()}
    wanted = {
        entry.cell.id: (models[entry.cell.model], plan.measure[entry.cell.backend].profile)
        for entry in plan.with_decision("run")
    }
    try:
        with Store.open_readonly(database, wait_s=0) as store:
            before = store.measured_before(wanted, host, launcher)
    except StoreError:
        return None
    if before is None:
        return None
    age = format_age((datetime.now(UTC) - before.measured_at).total_seconds())
    count = f"{before.cells} of {len(wanted)} {plural(len(wanted), 'cell')} "
    return (
        f"{'' if before.cells == len(wanted) else count}measured {age} in run {before.run_id};"
        f" `orchestrator run --resume {before.run_id}` fills its gaps, this measures all again"
    )


@dataclass(frozen=True)
class RunResult:
    """A run that has ended: its verdicts, and what went wrong."""

    report: "RunReport"
    outcome: RunOutcome | BothOutcomes
    turns: BothFolders | None = None
    """Both folders, if it was measured side by side with a baseline."""
    verdicts: "RegressionAnswer | None" = None
    """Those against a baseline; None where it was compared with none, or nothing was judged."""

    @property
    def exit_code(self) -> int:
        return self.outcome.exit_code


@dataclass(frozen=True)
class ResumeRequest:
    """An earlier run that shall be finished."""

    run_id: str
    results: Path
    matrix: Path | None = None
    """The matrix file, if it was named: it must be the run's own."""
    options: RunOptions = field(default_factory=RunOptions)
    """Launcher, database, budget and when to stop; the rest is the run's own."""


def run_matrix(request: PlanRequest, observer: Observer) -> RunResult:
    """Plan a matrix and measure every cell that can run."""
    plan, source = plan_run(request)
    folder = begin_run(plan, source, request.results, request.options, observer)
    observer.note(with_exports(plan, request).sums())
    if request.options.purpose != "verify":
        repeat = describe_repeat(plan, folder.run.launcher, request.database, this_host())
        if repeat is not None:
            observer.note(repeat)
    return _finish(folder, folder.run.launcher, observer, request.options)


def resume_run(request: ResumeRequest, observer: Observer) -> RunResult:
    source = RunSource()
    if request.matrix is not None:
        load_matrix(request.matrix)
        source = source_of(request.matrix)
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
    # Else the rounds of one cell would differ by them.
    set_variables(folder.run.options.inherit_environ or ())
    requested = request.options.launcher
    launcher = folder.run.launcher if requested == "auto" else requested
    return _finish(folder, choose_launcher(launcher, observer.note), observer, request.options)


def _resume_both(
    folders: BothFolders, source: RunSource, options: RunOptions, observer: Observer
) -> RunResult:
    """Measure what two runs that are measured side by side have left."""
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
    where = make_launcher(launcher, observer.image_step, chosen=folder.run.options.images)
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
    from orchestrator.commands.results.run_report import report_stored

    for cell_id, reason in failed_traces(folder).items():
        observer.note(f"{cell_id}: no trace: {reason}")
    return replace(report_stored(folder.run.run_id, store), traces=tuple(saved_traces(folder)))
