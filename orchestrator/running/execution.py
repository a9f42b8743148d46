"""One run from its folder to the database: locks, launches, verdicts, merge."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pydantic import ValidationError

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Launcher
from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND
from orchestrator.running.artifacts.graphs import Graphs, executes_graph
from orchestrator.running.artifacts.references import References, is_verified
from orchestrator.running.artifacts.work_counts import WorkCounts
from orchestrator.running.due import DueLaunch, due_launches
from orchestrator.running.execute_job import (
    ArtifactFolders,
    Availability,
    LaunchContext,
    execute_job,
)
from orchestrator.running.folder import RunFolder
from orchestrator.running.job_files import JobFiles, false_claim
from orchestrator.running.merge_run import merge_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import FAILURES, RunOutcome, outcome_of, save_skips, save_verdicts
from orchestrator.running.sweep import sweep_jobs
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.store.store import Store
from runner.contract.cell import Backend, Cell
from runner.contract.errors import (
    BenchError,
    DamagedFile,
    EngineUnavailable,
    ImageError,
    RecordError,
    StoreError,
    Unavailable,
)
from runner.contract.job import Job, Measure, Provenance
from runner.contract.reasons import Reason, facts_behind, reason
from runner.contract.record.doubts import RemedyCode, doubt, with_doubt
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Columns, Record
from runner.contract.record.verdict import Grade, Status
from runner.contract.rounds import raw_columns, read_rounds

_BEST: Grade = "B"
"""The best grade of a cell that lacks rounds."""


def record_so_far(
    folder: RunFolder, cell: Cell, rounds: int, explanation: Reason, remedy: RemedyCode
) -> Record | None:
    """The record of a cell's first rounds; None if there are none, or they tell of none.

    The columns are those that the runner found with the last of them. They are a job's claims, and
    count as far as those of a record file would.

    Args:
        folder: the run's folder.
        cell: a planned cell without a record.
        rounds: the rounds that it had.
        explanation: the reason why there will be no more.
        remedy: what helps.
    """
    jobs = JobFiles(folder.path / "jobs").launched(cell.job_id)
    if not rounds or not jobs:
        return None
    try:
        results = read_rounds(folder.out(cell.job_id), cell, rounds)
        so_far = results[-1].so_far
        graded = _graded(so_far, rounds, jobs[-1].measure, explanation, remedy)
        columns = {**so_far, **raw_columns(results), **graded}
        record = Record.of(jobs[-1], cell, Outcome(status="ok"), columns) if so_far else None
    except (RecordError, DamagedFile, ValidationError, TypeError):
        return None
    return None if record is None or false_claim(record, cell, jobs[-1:]) else record


def _graded(
    so_far: Columns, rounds: int, measure: Measure, explanation: Reason, remedy: RemedyCode
) -> dict[str, Any]:
    """Grade and reasons, with the rounds that it lacks of those that were asked for."""
    if rounds >= measure.rounds:
        return {}
    facts = {"requested": measure.rounds, **facts_behind("before", explanation)}
    return with_doubt(so_far, doubt("few_rounds", _BEST, rounds, remedy, **facts))


_FAILED_FAST = reason("failed_fast")
_ENGINE_GRACE_S = 10.0
_OUTAGES_ENDURED = 3


class RunExecution:
    """A run under way: launches its jobs one after the other."""

    def __init__(
        self,
        folder: RunFolder,
        launcher: Launcher,
        observer: Observer,
        options: RunOptions,
        *,
        memory_bytes: int | None = None,
        engine_grace_s: float = _ENGINE_GRACE_S,
    ) -> None:
        """The execution of what the folder has left.

        Args:
            folder: the run's folder.
            launcher: where its jobs execute.
            observer: is told of the progress.
            options: database, budget and when to stop; the rest is the folder's own.
            memory_bytes: host memory that a job may use without limits; None if nobody knows.
            engine_grace_s: seconds that an engine which went away may take to come back.
        """
        self.folder = folder
        """The run's folder."""
        self.earlier_images = False
        """True if jobs may execute in images of an earlier version, whose runners refuse fields
        that jobs have gained since."""
        self.whole_budget_s = options.budget_s
        """The budget that messages name; that of the options may be what is left of it."""
        self._launcher = launcher
        self._observer = observer
        self._options = options
        self._database = options.database or folder.database
        self._engine_grace_s = engine_grace_s
        self._started = 0.0
        self._failed = False
        self._devices = devices_of(folder)
        self._context = LaunchContext(launcher, folder, observer)
        version = folder.run.version
        self._availability = Availability(launcher, earlier=version is not None)
        self._references = References(self._context, self._availability, memory_bytes)
        recorded = version.graphs if version else {}
        self._graphs = Graphs(folder.path.parent, self._context, self._availability, recorded)
        self._counts = WorkCounts(folder.path.parent, self._context, self._availability)
        self._troubles: dict[str, BenchError] = {}
        self._outages = 0

    def run(self, then: Callable[[Store], None] | None = None) -> RunOutcome:
        """Measure what the run still misses; merge all there is, also when interrupted.

        Behind the merge `then` may ask the database.
        """
        with self.occupied():
            try:
                self.measure()
            except BaseException:
                self.keep()
                raise
            return self.end(then)

    def measure(self) -> None:
        """Measure what the run still misses, with its devices held; nothing is merged."""
        self.begin()
        for due in due_launches(self.folder, self.environment, self._observer.note):
            if explanation := self.stop_reason():
                self.stop(due, explanation)
            else:
                self.launch(due)

    @property
    def troubles(self) -> tuple[BenchError, ...]:
        """Errors that kept cells from being launched, each once."""
        return tuple(self._troubles.values())

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Hold the devices.

        Raises:
            StoreError: the folder of the locks cannot be used.
        """
        holder = f"run {self.folder.run.run_id}"
        with self._launcher.reserve(self._devices, holder, self._note_waiting):
            yield

    def begin(self) -> None:
        """Begin the budget's time, remove what a killed run has left, save what needs no launch."""
        self._started = time.monotonic()
        self._clean()
        self.folder.remove_unfinished()
        sweep_jobs(self.folder, self.folder.jobs, self._observer.note)
        self.folder.forget_retried()
        save_skips(self.folder, self._observer)

    def launch(self, due: DueLaunch, rounds: int | None = None) -> None:
        """Launch what is due; what keeps it from being launched becomes the verdict of its cells.

        Args:
            due: cells, and the round that visits them.
            rounds: the number of their rounds; None for that of the plan.
        """
        try:
            self._execute(due, rounds)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            self._note_trouble(error)
            self.decline(self.folder.due(due.cells, due.round), error)
        self._failed = self._failed or any(map(self._has_failed, due.cells))

    def decline(self, cells: Sequence[Cell], error: BenchError) -> None:
        """Give cells that cannot be launched here their verdict."""
        self._save_verdicts(cells, "unavailable", error.reason)

    def stop(self, due: DueLaunch, explanation: Reason) -> None:
        """Launch cells no more, since the time is spent or another one failed."""
        if explanation == _FAILED_FAST:
            self._refuse(due.cells, due.round, explanation)
        else:
            self.break_off(due, explanation, "raise_budget")

    def break_off(self, due: DueLaunch, explanation: Reason, remedy: RemedyCode) -> None:
        """Give cells that are launched no more a verdict: by the rounds that they had, if any.

        Args:
            due: cells, and the round that will not visit them.
            explanation: the reason why it will not.
            remedy: the help against it.
        """
        self._refuse(self._save_so_far(due, explanation, remedy), due.round, explanation)

    def end(self, then: Callable[[Store], None] | None = None) -> RunOutcome:
        """Merge all that was measured into the database, which `then` may ask.

        Raises:
            StoreError: the database cannot be written; the records stay where they are.
        """
        merged = merge_run(self.folder, self._database, then)
        outcome = outcome_of(self.folder, merged, self.troubles)
        if outcome.exit_code != StoreError.exit_code and not merged.is_complete:
            self._observer.note(merged.faults)
        return outcome

    def keep(self) -> None:
        """Merge what was measured before something ended the run, which is the better story."""
        with suppress(StoreError):
            merge_run(self.folder, self._database)

    def stop_reason(self) -> Reason | None:
        """The reason to launch nothing more; None if there is none."""
        if self._options.fail_fast and self._failed:
            return _FAILED_FAST
        budget = self._options.budget_s
        if budget is not None and time.monotonic() - self._started >= budget:
            return reason("budget_spent", budget_s=self.whole_budget_s or budget)
        return None

    def environment(self, backend: Backend) -> Provenance | None:
        """The provenance of launches from now on; None if there will be none."""
        if self.stop_reason():
            return None
        with suppress(BenchError):  # the launch meets it again
            return self._availability.prepare(backend)
        return None

    def make_artifacts(self, due: DueLaunch) -> None:
        """Make what the launch of these cells reads; what refuses is met again by the launch."""
        with suppress(BenchError):
            self._with_artifacts(self._job(due))

    def _note_waiting(self, device: str, holder: str) -> None:
        self._observer.note(f"waiting for device {device}, held by {holder}")

    def _clean(self) -> None:
        with suppress(EngineUnavailable):
            if removed := self._launcher.clean(self._devices):
                self._observer.note(f"removed {removed} containers that a crashed run had left")

    def _save_so_far(
        self, due: DueLaunch, explanation: Reason, remedy: RemedyCode
    ) -> Sequence[Cell]:
        """Make records of the rounds that were done; returns the cells that have none."""
        left = []
        for cell in due.cells:
            record = record_so_far(self.folder, cell, due.round - 1, explanation, remedy)
            if record is None:
                left.append(cell)
            else:
                self.folder.save(record)
                self._observer.cell_ended(cell, record)
        return left

    def _execute(self, due: DueLaunch, rounds: int | None) -> None:
        """Execute the job, starting again where it stopped if the engine goes and comes back."""
        backend = due.cells[0].backend
        while True:
            job = self._job(due, rounds)
            try:
                job, artifacts = self._with_artifacts(job)
                execute_job(job, self._context, artifacts)
            except EngineUnavailable as error:
                self._outages += 1
                if self._outages > _OUTAGES_ENDURED or not self._engine_comes_back(backend):
                    self._availability.give_up(backend, error)
                    raise
                self._observer.note("the container engine is back")
                self._clean()
            else:
                return

    def _job(self, due: DueLaunch, rounds: int | None = None) -> Job:
        provenance = self._availability.prepare(due.cells[0].backend)
        return self.folder.job(due.cells, provenance, due.round, rounds)

    def _with_artifacts(self, job: Job) -> tuple[Job, ArtifactFolders]:
        job, graphs = self._graphs.ensure(job)
        job, references = self._references.ensure(job)
        if self.folder.run.version is None and not self.earlier_images:
            job = self._counts.ensure(job)
        return job, ArtifactFolders(references, graphs)

    def _engine_comes_back(self, backend: Backend) -> bool:
        self._observer.note("the container engine went away; waiting for it to come back")
        return self._availability.comes_back(backend, self._engine_grace_s)

    def _note_trouble(self, error: BenchError) -> None:
        if str(error) not in self._troubles:
            self._troubles[str(error)] = error
            text, hint = error_text(error), error_hint(error)
            self._observer.note(f"{text}; {hint}" if hint else text)

    def _refuse(self, cells: Sequence[Cell], round_: int, cause: Reason) -> None:
        started = reason("stopped_after", round=round_ - 1, cause=cause)
        explanation = started if round_ > 1 else reason("not_started", cause=cause)
        self._save_verdicts(cells, "unavailable", explanation)

    def _save_verdicts(self, cells: Sequence[Cell], status: Status, explanation: Reason) -> None:
        save_verdicts(self.folder, self._observer, cells, status, explanation)

    def _has_failed(self, cell: Cell) -> bool:
        record = self.folder.record_of(cell)
        return record is not None and record.status in FAILURES


def devices_of(folder: RunFolder) -> frozenset[str]:
    """The devices that the run occupies: those of its cells, and the one that makes artifacts."""
    backends = {cell.backend for cell in folder.cells}
    verifies = folder.run.purpose != "time" and any(map(is_verified, folder.cells))
    if verifies or any(map(executes_graph, folder.cells)):
        backends.add(ARTIFACT_BACKEND)
    return frozenset[str]().union(*(CATALOGUE[backend].locks for backend in backends))
