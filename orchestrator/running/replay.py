"""A result to be measured again: its job, and consent to what a stranger's record chose.

A bundle or a file of records fills the database with jobs that strangers wrote. Such a job decides
what is built, for how long and within which limits; so it is shown, and what goes beyond what `run`
would choose by itself is taken only if the user says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from analysis.results.selection import runs_with
from analysis.results.source import text
from orchestrator.backends.catalogue import LauncherName
from orchestrator.launchers.registry import LAUNCHERS, Pinned, known_launcher
from orchestrator.planning.estimate import iteration_estimate, timed_estimate
from orchestrator.planning.plan import Plan, PlannedCell, RunSource
from orchestrator.running.create import create_run
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.options import ChosenImage, RunOptions
from orchestrator.store.query.results import Measurement
from orchestrator.store.query.runs import resolve_run, steps_back
from orchestrator.store.store import Store
from orchestrator.system.problems import first_fault
from orchestrator.system.text import escape_control_line
from runner.contract.cell import Cell, Purpose
from runner.contract.errors import StoreError, UsageError
from runner.contract.job import PROFILES, Job, Limits, Measure
from runner.contract.record.record import JOB_FAULTS, recorded_job

_RESULTS = "a result is RUN_ID/CELL_ID; `orchestrator query latest_results --wide` lists them"
_REPEATABLE: tuple[Purpose, ...] = ("measure", "time", "verify")


@dataclass(frozen=True)
class ReplayRequest:
    """A result that shall be measured again."""

    result_id: str
    """`<run_id>/<cell_id>`; `last/<cell_id>` is one of the newest run that launched the cell."""
    results: Path
    database: Path | None = None
    launcher: LauncherName | None = None
    """The launcher that the user names; None: the one that executed it."""
    as_recorded: bool = False
    """True if the user takes whatever a stranger's record chose."""
    image: list[ChosenImage] | None = None
    """Images that the user vouches for by their references."""
    command: str | None = None


@dataclass(frozen=True)
class Original:
    """A result with all that it takes to measure it again."""

    measured: Measurement
    job: Job
    launcher: LauncherName
    scratch: bool

    @property
    def cell(self) -> Cell:
        return self.job.cells[0]

    @property
    def pinned(self) -> Pinned | None:
        """The image it executed in; None without one, or where no image is used now."""
        if not LAUNCHERS[self.launcher].needs_images:
            return None
        image, digest = self.measured.image, self.measured.image_digest
        return Pinned(self.cell.backend, image, digest) if image and digest else None


def consented_original(request: ReplayRequest, database: Path, observer: Observer) -> Original:
    original = find_original(request.result_id, database)
    if not is_own(original.job, original.launcher, request.results):
        for line in describe_choices(original.job, original.launcher):
            observer.note(line)
        require_consent(
            original.job,
            original.launcher,
            requested=request.launcher,
            as_recorded=request.as_recorded,
        )
    if request.launcher is None:
        return original
    return replace(original, launcher=request.launcher)


def find_original(result_id: str, database: Path) -> Original:
    """The result of that id; `last/<cell_id>` is of the newest run that launched the cell."""
    run, _, cell_id = result_id.partition("/")
    with Store.open_readonly(database) as store:
        name = result_id
        if steps_back(run) is not None and (known := store.runs()):
            of_cell = f"r.cell_id = {text(cell_id)} AND r.phase IS DISTINCT FROM 'plan'"
            able = runs_with(store, "benchmark_results", of_cell)
            name = f"{resolve_run(run, known, database, able)}/{cell_id}"
        measured, near, scratch = store.measurement(name), store.nearest(name), store.scratch
    if measured is None:
        raise UsageError(
            f"{result_id!r} is not a result in {database}",
            hint=f"did you mean {near}?" if near else _RESULTS,
        )
    if measured.phase == "plan":
        raise UsageError(
            f"{name}: nothing was launched for it ({measured.status}: {measured.reason})",
            hint="a replay repeats what was launched; `orchestrator run` plans it anew",
        )
    job, launcher = _job_of(measured), known_launcher(measured.launcher)
    if launcher is None:
        raise UsageError(
            f"{name}: was launched by {measured.launcher!r}, which this AccelMatrix does not know",
            hint=f"it knows {', '.join(LAUNCHERS)}",
        )
    return Original(measured, job, launcher, scratch)


def begin_replay(original: Original, request: ReplayRequest) -> RunFolder:
    """Make the folder of a run that measures this result's cell again, with the same seeds."""
    job, cell = original.job, original.cell
    seconds = timed_estimate(cell, iteration_estimate(cell, job.model), job.measure)
    plan = Plan(
        entries=(PlannedCell(cell=cell, decision="run", estimate_s=seconds),),
        notes=(f"replays {original.measured.result_id}",),
        whole=False,
        models={cell.model: job.model},
        measure={cell.backend: job.measure},
        limits={cell.backend: job.limits},
    )
    options = RunOptions(
        launcher=original.launcher,
        database=request.database,
        seed=job.seed,
        weights_seed=job.weights_seed,
        scratch=original.scratch,
        verify_only=job.purpose == "verify",
        no_verify=job.purpose == "time",
        trace=job.trace,
        inherit_environ=list(job.inherit_environ),
        image=request.image,
    )
    source = RunSource(command=request.command)
    return create_run(plan, source, request.results, options, {"browser": job.browser})


def _job_of(measured: Measurement) -> Job:
    try:
        job = recorded_job(measured.job or "", measured.model_spec)
    except JOB_FAULTS as error:
        if isinstance(error, ValidationError):
            summary = first_fault(error)
        else:
            summary = str(error).splitlines()[0]
        raise UsageError(
            f"{measured.result_id}: holds no job that can be run again: {summary}",
            hint="it was recorded without one, or by another version of AccelMatrix",
        ) from error
    _require_same(measured, job)
    return job


def _require_same(measured: Measurement, job: Job) -> None:
    names = [f"{job.run_id}/{cell.id}" for cell in job.cells]
    if names != [measured.result_id] or job.model.name != job.cells[0].model:
        raise UsageError(
            f"{measured.result_id}: its job is another one's: it measures {', '.join(names)}"
            f" with the model {job.model.name}",
            hint="such a record is wrong or forged; `orchestrator run` measures the cell anew",
        )
    if job.purpose not in _REPEATABLE:
        raise UsageError(
            f"{measured.result_id}: its job is for {job.purpose!r}, which is no measurement",
            hint=f"a replay repeats jobs for {', '.join(_REPEATABLE)}",
        )


_CHOSEN = ("model", "measure", "limits", "seed", "weights_seed", "inherit_environ", "browser")
_LONGEST = PROFILES["audit"]
_BOUNDED = (*("warmup_iterations", "warmup_max_s", "iterations", "min_s", "max_s"),)


def is_own(job: Job, launcher: LauncherName, results: Path) -> bool:
    """True if a run in the results folder planned this job, with all that it says."""
    try:
        run = RunFolder.open(results, job.run_id).run
    except (StoreError, UsageError):
        return False
    (cell,) = job.cells
    if launcher != run.launcher or cell not in {entry.cell for entry in run.plan.entries}:
        return False
    planned = run.job([cell], job.provenance, job.round)
    return all(getattr(job, name) == getattr(planned, name) for name in _CHOSEN)


def describe_choices(job: Job, launcher: LauncherName) -> list[str]:
    image = job.provenance.image
    digest = job.provenance.image_digest
    weights = f"pretrained, from {job.model.path or job.model.hub_id}"
    lines = [
        "this result was not measured by a run in the results folder; its record chose:",
        f"launcher {launcher}" + (f", image {image} {digest}" if image else ""),
        f"model {job.model.name}, weights "
        + (weights if job.model.weights == "pretrained" else f"random, seed {job.weights_seed}"),
        f"measure {_values(job.measure)}",
        f"limits {_values(job.limits)}",
        *_of_the_shell(job),
    ]
    return [escape_control_line(line) for line in lines]


def require_consent(
    job: Job, launcher: LauncherName, *, requested: LauncherName | None, as_recorded: bool
) -> None:
    """Refuse what a stranger's record chose, unless the user says so."""
    if launcher == "process" and requested is None:
        raise UsageError(
            "its launcher is `process`: the job would run on this machine, outside any container",
            hint="`--launcher docker` runs it in a container, `--launcher process` as it was",
        )
    choices = [] if as_recorded else list(_unusual(job))
    if choices:
        shown = escape_control_line("; ".join(choices))
        raise UsageError(
            f"its record chose what `run` would not by itself: {shown}",
            hint="`--as-recorded` takes all of it",
        )


def _unusual(job: Job) -> Iterator[str]:
    if job.model.weights == "pretrained":
        yield f"pretrained weights from {job.model.path or job.model.hub_id}"
    for name, default in Limits():
        value = getattr(job.limits, name)
        if value != default:
            yield f"limit {name} {value} (by default {default})"
    for name in _BOUNDED:
        value, most = getattr(job.measure, name), getattr(_LONGEST, name)
        if value > most:
            yield f"{name} {value:g} (up to {most:g})"
    if (heat_s := job.measure.heat_s or 0) > _LONGEST.warmup_max_s:
        yield f"heat_s {heat_s:g} (up to {_LONGEST.warmup_max_s:g})"
    if job.measure.most_rounds > _LONGEST.most_rounds:
        yield f"rounds {job.measure.most_rounds} (up to {_LONGEST.most_rounds})"
    yield from _of_the_shell(job)
    for cell in job.cells:
        if cell.workers is not None:
            yield f"workers {cell.workers} (by default as many as threads)"


def _of_the_shell(job: Job) -> list[str]:
    """Lines on variables of this shell, and on what they would choose."""
    variables = [f"variable {name} of this shell" for name in job.inherit_environ]
    return [*variables, *([f"browser {job.browser}"] if job.browser else ())]


def _values(settings: Measure | Limits) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings if value is not None)
