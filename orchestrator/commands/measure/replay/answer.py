"""One result measured again: the same cell in the same image, as a run of its own."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from analysis.compare.circumstances import DIRTY, circumstance_changes, circumstances_of
from analysis.results.row import item_estimate_ms, item_ms
from analysis.statistics.ratios import Estimate, shows_difference
from orchestrator.backends.catalogue import LauncherName
from orchestrator.commands.measure.replay.consent import describe_choices, is_own, require_consent
from orchestrator.commands.measure.run import execute_run
from orchestrator.launchers.registry import LAUNCHERS, Pinned, known_launcher, make_launcher
from orchestrator.planning.estimate import cell_estimate
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.create import create_run
from orchestrator.running.folder import RunFolder
from orchestrator.running.given import ChosenImage
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.run_file import RunSource
from orchestrator.store.query.results import Measurement, newest_run
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.problems import first_fault
from runner.contract.cell import Cell, Purpose
from runner.contract.errors import UsageError
from runner.contract.job import Job
from runner.contract.record.verdict import Grade

_LAST = "last/"
_REPEATABLE: tuple[Purpose, ...] = ("measure", "time", "verify")


@dataclass(frozen=True)
class ReplayRequest:
    """A result that shall be measured again."""

    result_id: str
    """`<run_id>/<cell_id>`; `last/<cell_id>` is one of the newest run."""
    results: Path
    """The folder of all runs."""
    database: Path | None = None
    """The DuckDB file; None: the one in the results folder."""
    launcher: LauncherName | None = None
    """The launcher that the user names; None: the one that executed it."""
    as_recorded: bool = False
    """True if the user takes whatever a stranger's record chose."""
    image: list[ChosenImage] | None = None
    """Images that the user vouches for by their references."""
    command: str | None = None
    """The command line, for `run.json`."""


@dataclass(frozen=True)
class Original:
    """A result with all that it takes to measure it again."""

    measured: Measurement
    """The result."""
    job: Job
    """The job with this cell alone."""
    launcher: LauncherName
    """The launcher that executed it."""
    scratch: bool
    """True if it lies in a scratch database."""

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


@dataclass(frozen=True)
class Replay:
    """A result and its repetition."""

    then: Measurement
    now: Measurement
    changes: tuple[str, ...] = ()
    """Differences of their circumstances, as `torch 2.13.0, now 2.14.0`."""

    @property
    def ratio(self) -> float | None:
        """The time of an item now by the one then; None unless both were timed."""
        then, now = item_ms(self.then), item_ms(self.now)
        return now / then if then and now else None

    @property
    def ratio_interval(self) -> Estimate | None:
        """That ratio with its 95 % interval; None unless there are two."""
        then, now = item_estimate_ms(self.then), item_estimate_ms(self.now)
        return now.over(then) if then and now else None

    @property
    def grade(self) -> Grade | None:
        """The worse grade of the two; None unless both have one."""
        then, now = self.then.grade, self.now.grade
        return max(then, now) if then and now else None

    @property
    def shows_difference(self) -> bool:
        """True if the ratio is beyond what interval and grades leave open."""
        ratio, grade = self.ratio_interval, self.grade
        return ratio is not None and grade is not None and shows_difference(ratio, grade)

    @property
    def intervals_overlap(self) -> bool | None:
        """True if the 95 % intervals of these times overlap; None unless there are two."""
        then, now = item_estimate_ms(self.then), item_estimate_ms(self.now)
        if then is None or now is None:
            return None
        return then.low <= now.high and now.low <= then.high

    @property
    def differences(self) -> list[str]:
        """Differences of the host and of all circumstances, and what they leave open, in words."""
        then, now = self.then, self.now
        sentences = [*self.changes]
        if then.hostname != now.hostname:
            sentences.insert(0, f"host {then.hostname}, now {now.hostname}")
        if now.image is None and (now.git_commit or "").endswith(DIRTY):
            sentences.append(
                "the checkout has uncommitted changes, so its runner may be another one"
            )
        return sentences

    def data(self) -> dict[str, Any]:
        """Both results without their jobs, and how they compare."""
        return {
            "then": _public(self.then),
            "now": _public(self.now),
            "ratio": self.ratio,
            "ratio_interval": self.ratio_interval and asdict(self.ratio_interval),
            "shows_difference": self.shows_difference,
            "intervals_overlap": self.intervals_overlap,
            "differences": self.differences,
        }


@dataclass(frozen=True)
class ReplayResult:
    """The end of a run that repeats one result."""

    replay: Replay | None
    """None if the repetition left no verdict."""
    outcome: RunOutcome


def replay_result(request: ReplayRequest, observer: Observer) -> ReplayResult:
    """Measure one result again, in the same image."""
    database = request.database or request.results / DATABASE_NAME
    original = consented_original(request, database, observer)
    pinned = [original.pinned] if original.pinned else []
    images = {image.backend: image.reference for image in request.image or ()}
    launcher = make_launcher(original.launcher, observer.image_step, pinned, images)
    launcher.prepare(original.cell.backend)
    folder = begin_replay(original, request)
    options, is_pinned = RunOptions(database=database), original.pinned is not None
    outcome = execute_run(folder, launcher, observer, options, earlier_images=is_pinned)
    again = f"{folder.run.run_id}/{original.cell.id}"
    return ReplayResult(replay_in(database, original.measured, again), outcome)


def replay_in(database: Path, then: Measurement, result_id: str) -> Replay | None:
    """A result beside its repetition, which has this id; None if that left no verdict."""
    with Store.open_readonly(database) as store:
        now = store.measurement(result_id)
        if now is None:
            return None
        known = circumstances_of(store, [then.result_id, now.result_id])
    facts = [known[one.result_id] for one in (then, now) if one.result_id in known]
    return Replay(then, now, circumstance_changes(*facts) if len(facts) > 1 else ())


def consented_original(request: ReplayRequest, database: Path, observer: Observer) -> Original:
    """The result, with the launcher that shall repeat it."""
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
    """The result of that id, `<run_id>/<cell_id>`; `last/<cell_id>` is one of the newest run."""
    with Store.open_readonly(database) as store:
        last = newest_run(store.runs()) if result_id.startswith(_LAST) else None
        name = f"{last.run_id}/{result_id.removeprefix(_LAST)}" if last else result_id
        measured, near, scratch = store.measurement(name), store.nearest(name), store.scratch
    if measured is None:
        raise UsageError(
            f"{result_id!r} is not a result in {database}",
            hint=f"did you mean {near}?" if near else "it holds none yet",
        )
    if measured.phase == "plan":
        raise UsageError(
            f"{name}: nothing was launched for it ({measured.status}: {measured.reason})",
            hint="a replay repeats what was launched; `orchestrator run` plans it anew",
        )
    return Original(measured, _job_of(measured), _launcher_of(measured), scratch)


def begin_replay(original: Original, request: ReplayRequest) -> RunFolder:
    """Make the folder of a run that measures this result's cell again, with the same seeds."""
    job, cell = original.job, original.cell
    seconds = cell_estimate(cell, job.model, job.measure)
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
        data, model = json.loads(measured.job or ""), json.loads(measured.model_spec or "")
        job = Job.model_validate({**data, "model": model})
    except (ValueError, TypeError, RecursionError) as error:
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
    """Insist that the job is the result's own: what it measures, for which run, and why."""
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


def _launcher_of(measured: Measurement) -> LauncherName:
    if name := known_launcher(measured.launcher):
        return name
    raise UsageError(
        f"{measured.result_id}: was launched by {measured.launcher!r}, which this AccelMatrix "
        f"does not know",
        hint=f"it knows {', '.join(LAUNCHERS)}",
    )


def _public(measured: Measurement) -> dict[str, Any]:
    internal = {"job", "model_spec"}
    return {name: value for name, value in measured.data().items() if name not in internal}
