"""One run from its folder to the database: locks, launches, verdicts, merge."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from pathlib import Path

from analysis.statistics.ratios import THRESHOLD
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import this_machine
from orchestrator.launchers.base import Launcher
from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND
from orchestrator.running.artifacts.graphs import Graphs, executes_graph
from orchestrator.running.artifacts.references import References, is_verified
from orchestrator.running.artifacts.work_counts import WorkCounts
from orchestrator.running.due_launches import DueGroup, DueLaunch, due_launches
from orchestrator.running.execute_job import (
    Availability,
    JobExecution,
    LaunchContext,
    record_so_far,
)
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import FAILURES, RunOutcome, end_run, save_skips, save_verdicts
from orchestrator.running.side_by_side import GroupExecution
from orchestrator.running.sweep import sweep_jobs
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.store.store import Store
from orchestrator.system.text import format_duration, plural
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    StoreError,
    Unavailable,
)
from runner.contract.job import Job, Provenance
from runner.contract.reasons import Reason, reason
from runner.contract.record.verdict import RemedyCode

_FAILED_FAST = reason("failed_fast")
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
        engine_grace_s: float = 10.0,
    ) -> None:
        """The execution of what the folder has left.

        `memory_bytes` is host memory that a job may use without limits, None if nobody knows;
        `engine_grace_s` the seconds that an engine which went away may take to come back.
        """
        self.folder = folder
        self.refused: set[Cell] = set()
        self.earlier_images = False
        """True if jobs may execute in images of an earlier version, whose runners refuse fields
        that jobs have gained since."""
        self.whole_budget_s = options.budget_s
        """The budget that messages name; that of the options may be what is left of it."""
        self.decline: Callable[[Sequence[Cell], BenchError], None] = self._save_unavailable
        """Takes cells that cannot be launched here, and why; else that becomes their verdict."""
        self._launcher = launcher
        self._observer = observer
        self._options = options
        self._database = options.database or folder.database
        self._engine_grace_s = engine_grace_s
        self._started = 0.0
        self._failed = False
        self._devices = devices_of(folder)
        self._context = LaunchContext(launcher, folder, observer)
        version, results = folder.run.version, folder.path.parent
        earlier = version is not None and bool(version.images or version.checkout)
        self._availability = Availability(launcher, earlier=earlier)
        made_by = (self._context, self._availability)
        self._references = References(*made_by, memory_bytes)
        self._graphs = Graphs(results, *made_by, version.graphs if version else {})
        self._counts = WorkCounts(results, *made_by)
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
            if isinstance(due, DueGroup):
                GroupExecution(due, [self], THRESHOLD).take_rounds(due.round)
            elif explanation := self.stop_reason():
                self.break_off(due, explanation)
            else:
                self.launch(due)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Hold the run's devices, once whoever has them is done."""

        def note_waiting(device: str, holder: str) -> None:
            self._observer.note(f"waiting for device {device}, held by {holder}")

        seconds = sum(estimates_s(self.folder, self.folder.unfinished()).values())
        holder = f"run {self.folder.run.run_id} (about {format_duration(round(seconds))} in all)"
        with self._launcher.reserve(self._devices, holder, note_waiting):
            yield

    def begin(self) -> None:
        """Begin the budget's time, remove what a killed run has left, save what needs no launch."""
        self._started = time.monotonic()
        self._clean()
        self.folder.remove_unfinished()
        sweep_jobs(self.folder, self.folder.jobs, self._observer.note)
        self.folder.forget_retried()
        save_skips(self.folder, self._observer)

    def launch(self, due: DueLaunch) -> None:
        """Launch what is due; what keeps it from that becomes the verdict of its cells."""
        try:
            self._execute(due)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            self.refuse(self.folder.due(due.cells, due.round), error)
        self.note_failures(due.cells)

    def refuse(self, cells: Sequence[Cell], error: BenchError) -> None:
        """Give cells that cannot be launched a verdict."""
        if str(error) not in self._troubles:
            self._troubles[str(error)] = error
            text, hint = error_text(error), error_hint(error)
            self._observer.note(f"{text}; {hint}" if hint else text, error.reason)
        self.refused.update(cells)
        self.decline(cells, error)

    def note_failures(self, cells: Iterable[Cell]) -> None:
        """Remember whether one of these cells failed, for those who want to stop then."""
        records = filter(None, map(self.folder.record_of, cells))
        self._failed = self._failed or any(record.status in FAILURES for record in records)

    def _save_unavailable(self, cells: Sequence[Cell], error: BenchError) -> None:
        save_verdicts(self.folder, self._observer, cells, "unavailable", error.reason)

    def break_off(self, due: DueLaunch, cause: Reason, remedy: RemedyCode = "raise_budget") -> None:
        """Give cells that are launched no more a verdict: by the rounds that they had, if any.

        Where a failure ends the run at once, they have none.
        """
        done, left = due.round - 1, []
        for cell in due.cells:
            record = None
            if cause != _FAILED_FAST:
                record = record_so_far(self.folder, cell, done, cause, remedy)
            if record is None:
                left.append(cell)
            else:
                self.folder.save(record)
                self._observer.cell_ended(cell, record)
        not_started = reason("not_started", cause=cause)
        explanation = reason("stopped_after", round=done, cause=cause) if done else not_started
        save_verdicts(self.folder, self._observer, left, "unavailable", explanation)

    def finish(self, cell: Cell, rounds: int) -> None:
        """Make the record of the cell's first rounds, which are all that it takes."""
        record = record_so_far(self.folder, cell, rounds)
        if record is None:
            save_verdicts(self.folder, self._observer, [cell], "lost", reason("nothing_left"))
        else:
            self.folder.save(record)
            self._observer.cell_ended(cell, record)

    def end(self, then: Callable[[Store], None] | None = None) -> RunOutcome:
        """Merge all that was measured into the database, which `then` may ask.

        Raises:
            StoreError: the database cannot be written; the records stay where they are.
        """
        troubles = tuple(self._troubles.values())
        return end_run(self.folder, self._database, troubles, self._observer, then)

    def keep(self) -> None:
        """Merge what was measured; a merge that fails must not hide what ended the run."""
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

    def _clean(self) -> None:
        with suppress(EngineUnavailable):
            if removed := self._launcher.clean(self._devices):
                self._observer.note(f"removed {removed} containers that a crashed run had left")

    def _execute(self, due: DueLaunch) -> None:
        """Execute the job, starting again where it stopped if the engine goes and comes back."""
        while True:
            job = self.job(due)
            try:
                self.job_execution(job).execute()
            except EngineUnavailable as error:
                self.await_engine(due.cells, error)
            else:
                return

    def job(self, due: DueLaunch) -> Job:
        """The job that is due; raises `EngineUnavailable` where none was there or came back."""
        provenance = self._availability.prepare(due.cells[0].backend)
        return self.folder.run.job(due.cells, provenance, due.round)

    def job_execution(self, job: Job, sharing: int = 1) -> JobExecution:
        """The execution of a job, which has all that its launches read."""
        job, references, graphs = self._with_artifacts(job)
        return JobExecution(job, self._context, references, graphs, sharing=sharing)

    def await_engine(self, cells: Sequence[Cell], error: EngineUnavailable) -> None:
        """Wait until the engine is back; raises the error if it does not come."""
        backend, note = cells[0].backend, self._observer.note
        self._outages += 1
        if endured := self._outages <= _OUTAGES_ENDURED:
            note("the container engine went away; waiting for it to come back")
        if not (endured and self._availability.comes_back(backend, self._engine_grace_s)):
            self._availability.give_up(backend, error)
            raise error
        note("the container engine is back")
        self._clean()

    def _with_artifacts(self, job: Job) -> tuple[Job, Path | None, Path | None]:
        job, graphs = self._graphs.ensure(job)
        job, references = self._references.ensure(job)
        if self.folder.run.version is None and not self.earlier_images:
            job = self._counts.ensure(job)
        return job, references, graphs


def devices_of(folder: RunFolder) -> frozenset[str]:
    """The devices of the cells that the run measures, and the one that makes artifacts."""
    cells = [entry.cell for entry in folder.run.plan.with_decision("run")]
    backends = {cell.backend for cell in cells}
    verifies = folder.run.purpose != "time" and any(map(is_verified, cells))
    if verifies or any(map(executes_graph, cells)):
        backends.add(ARTIFACT_BACKEND)
    return frozenset[str]().union(*(CATALOGUE[backend].locks for backend in backends))


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
    observer.run_started(estimates_s(folder, folder.unfinished()))
    memory_bytes = this_machine().memory_bytes
    execution = RunExecution(folder, launcher, observer, options, memory_bytes=memory_bytes)
    execution.earlier_images = earlier_images
    finish = f"`orchestrator run --resume last{folder.elsewhere}` finishes it"
    with telling_how_to_finish(f"run {folder.run.run_id}", folder.unfinished, finish, observer):
        return execution.run(then)


def estimates_s(folder: RunFolder, cells: Iterable[Cell]) -> dict[str, float]:
    """Seconds that each of these cells may take, by its id, with its share of launches."""
    plan, wanted = folder.run.plan, set(cells)
    entries = [entry for entry in plan.entries if entry.cell in wanted]
    sharing = Counter(entry.cell.job_id for entry in entries)
    return {
        cell.id: entry.estimate_s
        + entry.launch_s * plan.measure_of(cell).rounds / sharing[cell.job_id]
        for entry in entries
        for cell in [entry.cell]
    }


@contextmanager
def telling_how_to_finish(
    name: str, unfinished: Callable[[], Sized], finish: str, observer: Observer
) -> Iterator[None]:
    """Say, where Ctrl-C ends it, how many cells are left and which command measures them."""
    try:
        yield
    except KeyboardInterrupt:
        count = len(unfinished())
        observer.note(f"{name} was interrupted with {count} {plural(count, 'cell')} left")
        observer.note(finish)
        raise
