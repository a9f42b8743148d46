"""Consent to what a result's record chose, where the result was not measured by a run from here.

A bundle or a file of records fills the database with jobs that strangers wrote. Such a job decides
what is built, for how long and within which limits; so it is shown, and what goes beyond what `run`
would choose by itself is taken only if the user says so.
"""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.backends.catalogue import LauncherName
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RunFile
from orchestrator.system.text import escape_control_line
from runner.contract.errors import StoreError, UsageError
from runner.contract.job import PROFILES, Job, Limits, Measure

_LONGEST = PROFILES["audit"]
_BOUNDED = (*("warmup_iterations", "warmup_max_s", "iterations", "min_s", "max_s"),)


def is_own(job: Job, launcher: LauncherName, results: Path) -> bool:
    """True if a run in the results folder planned this job, with all that it says."""
    try:
        run = RunFolder.open(results, job.run_id).run
    except (StoreError, UsageError):
        return False
    (cell,) = job.cells
    plan = run.plan
    return cell in {entry.cell for entry in plan.entries} and (
        job.model,
        job.measure,
        job.limits,
        job.seed,
        job.weights_seed,
        job.inherit_environ,
        job.browser,
        launcher,
    ) == (
        plan.models.get(cell.model),
        _measure_of(run, job),
        plan.limits.get(cell.backend),
        run.seed,
        run.options.weights_seed,
        tuple(run.options.inherit_environ or ()),
        run.browser_of(cell),
        run.launcher,
    )


def _measure_of(run: RunFile, job: Job) -> Measure | None:
    """The measure that the run gave such a job; where launches take turns, of the rounds it had."""
    planned = run.plan.measure.get(job.cells[0].backend)
    if planned is None or not (run.interleaving or run.version):
        return planned
    return planned.of_rounds(job.measure.rounds)


def describe_choices(job: Job, launcher: LauncherName) -> list[str]:
    """Lines that name everything that the record chose; none of its texts makes one of its own."""
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
