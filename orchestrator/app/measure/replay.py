"""One result measured again: the same cell in the same image, as a run of its own."""

import json
from dataclasses import dataclass
from pathlib import Path

from orchestrator.backends.catalogue import LauncherName
from orchestrator.launchers.registry import LAUNCHERS, Pinned, known_launcher
from orchestrator.planning.estimate import cell_estimate
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.create import Origin, Terms, begin
from orchestrator.running.folder import RunFolder
from orchestrator.store import Measurement, Store, newest_run
from runner.contract.cell import Cell
from runner.contract.errors import UsageError
from runner.contract.job import Job

LAST = "last/"
DIRTY = "-dirty"


@dataclass(frozen=True)
class Original:
    """What is to be measured again."""

    measured: Measurement
    """What came out."""
    job: Job
    """What went in: the job with this cell alone."""
    launcher: LauncherName
    """Where it executed."""
    scratch: bool
    """Whether it lies in a scratch database."""

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.job.cells[0]

    @property
    def pinned(self) -> Pinned | None:
        """The image it executed in; None without one."""
        image, digest = self.measured.image, self.measured.image_digest
        return Pinned(self.cell.backend, image, digest) if image and digest else None


@dataclass(frozen=True)
class Replay:
    """A result and its repetition."""

    then: Measurement
    now: Measurement

    @property
    def ratio(self) -> float | None:
        """The median now by the one then; None unless both were timed."""
        then, now = self.then.latency_median_ms, self.now.latency_median_ms
        return now / then if then and now else None

    @property
    def intervals_overlap(self) -> bool | None:
        """Whether the medians' 95 % intervals overlap; None unless there are two."""
        then, now = _interval(self.then), _interval(self.now)
        if then is None or now is None:
            return None
        return then[0] <= now[1] and now[0] <= then[1]

    @property
    def differences(self) -> list[str]:
        """What was not the same, in sentences; the numbers compare that too."""
        then, now = self.then, self.now
        facts = (
            ("host", then.hostname, now.hostname),
            ("image", then.image_digest, now.image_digest),
            ("runner's version", then.runner_version, now.runner_version),
            ("commit", then.git_commit, now.git_commit),
        )
        said = [f"another {name}: {old}, now {new}" for name, old, new in facts if old != new]
        if now.image is None and (now.git_commit or "").endswith(DIRTY):
            said.append("the checkout has uncommitted changes, so its runner may be another one")
        return said


def find_original(result_id: str, database: Path) -> Original:
    """The result of that id, `<run_id>/<cell_id>`; `last/<cell_id>` is one of the newest run.

    Raises:
        UsageError: there is no such result, or nothing was launched for it.
        StoreError: the database cannot be read.
    """
    with Store.open_readonly(database) as store:
        last = newest_run(store.runs()) if result_id.startswith(LAST) else None
        name = f"{last.run_id}/{result_id.removeprefix(LAST)}" if last else result_id
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


def begin_replay(
    original: Original, results: Path, database: Path | None, command: str
) -> RunFolder:
    """Make the folder of a run that measures this result's cell again, with the same seed.

    Raises:
        StoreError: the results folder or the database cannot be used.
    """
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
    terms = Terms(
        launcher=original.launcher,
        database=database,
        seed=job.seed,
        scratch=original.scratch,
        purpose=job.purpose,
        trace=job.trace,
    )
    return begin(plan, Origin(command=command), results, terms)


def _job_of(measured: Measurement) -> Job:
    try:
        job, model = json.loads(measured.job or ""), json.loads(measured.model_spec or "")
        return Job.model_validate({**job, "model": model})
    except (ValueError, TypeError) as error:
        summary = str(error).splitlines()[0]
        raise UsageError(
            f"{measured.result_id}: holds no job that can be run again: {summary}",
            hint="it was recorded without one, or by another version of AccelMatrix",
        ) from error


def _launcher_of(measured: Measurement) -> LauncherName:
    if name := known_launcher(measured.launcher):
        return name
    raise UsageError(
        f"{measured.result_id}: was launched by {measured.launcher!r}, which this AccelMatrix "
        f"does not know",
        hint=f"it knows {', '.join(LAUNCHERS)}",
    )


def _interval(measured: Measurement) -> tuple[float, float] | None:
    low, high = measured.latency_median_low_ms, measured.latency_median_high_ms
    return None if low is None or high is None else (low, high)
