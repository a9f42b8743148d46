"""Two runs that are measured side by side: a run, and the baseline that it is compared with."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import runner
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.checkout import Checkout
from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.create import new_run_file, require_resumable, require_runnable
from orchestrator.running.due_launches import DueGroup, drop_foreign_rounds, due_launches
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.observer import Observer, PassingObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.run_file import Interleaving, RecordedVersion, RunFile, new_run_id
from orchestrator.running.side_by_side import GroupExecution
from orchestrator.screen.words.reasons import reason_text
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo
from runner.contract.job import Job, Provenance
from runner.contract.models import ModelSpec
from runner.contract.reasons import Reason
from runner.contract.record.record import Record


@dataclass(frozen=True)
class BaselineVersion:
    """The version of a baseline, as its records or another matrix name it."""

    images: Sequence[Pinned]
    """The image of each backend; none for today's."""
    cells: Collection[str]
    """The ids of the plan's cells that it has."""
    graphs: Mapping[str, str] = field(default_factory=dict)
    """The prepared graph of each cell that executed one, by cell id."""
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    """The models that it has otherwise, by name."""
    checkout: Checkout | None = None
    """The other checkout whose runner executes its jobs; None for our own, and for images'."""


@dataclass(frozen=True)
class BothFolders:
    """The folders of two runs that are measured side by side."""

    run: RunFolder
    baseline: RunFolder

    @classmethod
    def open(cls, results: Path, folder: RunFolder) -> Self | None:
        """The folder of either run with that of the other; None for a run that stands alone.

        Raises:
            UsageError: the run that the baseline belongs to is gone.
            StoreError: a `run.json` is damaged, or the results folder cannot be written.
        """
        if version := folder.run.version:
            folder = RunFolder.open(results, version.compared)
        if folder.run.interleaving is None:
            return None
        baseline = folder.run.interleaving.baseline
        if (results / baseline.run_id).exists():
            return cls(folder, RunFolder.open(results, baseline.run_id))
        return cls(folder, RunFolder.create(results, baseline))

    def require_left(self, source: RunSource, database: Path | None = None) -> None:
        """Insist that both have cells left, and that these can be measured."""
        require_resumable(self.run, source, database)
        if self.unfinished():
            return
        for folder in (self.baseline, self.run):
            merge_run(folder, database or folder.database).require_complete()
        ids = f"run {self.run.run.run_id} and its baseline {self.baseline.run.run_id}"
        raise NothingToDo(f"{ids} have a verdict for each of their cells")

    def unfinished(self) -> list[Cell]:
        left = {*self.run.unfinished(), *self.baseline.unfinished()}
        return [cell for cell in self.run.cells if cell in left]


def create_both(
    plan: Plan,
    source: RunSource,
    results: Path,
    options: RunOptions,
    version: BaselineVersion,
    threshold: float,
) -> BothFolders:
    """Make the folders of a run and of its baseline: same cells, lengths, limits and seeds."""
    require_runnable(plan, results, options)
    first = new_run_file(plan, source, results, options)
    run_id = new_run_id(results, first.run_id)
    checkout = version.checkout
    recorded = RecordedVersion(
        compared=run_id,
        images=tuple(version.images),
        checkout=checkout,
        graphs=dict(version.graphs),
    )
    to_run = plan.model_copy(
        update={
            "entries": tuple(plan.with_decision("run")),
            "models": {**plan.models, **version.models},
        }
    )
    untraced = replace(first.options, trace=False)
    baseline = first.model_copy(update={"plan": to_run, "options": untraced, "version": recorded})
    if checkout is not None:
        baseline = baseline.model_copy(update={"git_commit": checkout.commit})
        require_executable(baseline)
    turns = Interleaving(baseline=baseline, threshold=threshold)
    run = first.model_copy(update={"run_id": run_id, "interleaving": turns})
    # The run's own folder first: it names the baseline in full, so that `open` can make the other.
    return BothFolders(RunFolder.create(results, run), RunFolder.create(results, baseline))


def require_executable(baseline: RunFile) -> None:
    """Insist that the checkout of a baseline, if it is one, can execute what the baseline plans."""
    if baseline.version is None or baseline.version.checkout is None:
        return
    first = {entry.cell.job_id: entry.cell for entry in baseline.plan.with_decision("run")}
    here = Provenance(launcher=baseline.launcher, orchestrator_version=runner.__version__)
    baseline.version.checkout.require(baseline.job([cell], here) for cell in first.values())


@dataclass(frozen=True)
class BothOutcomes:
    """The ends of two runs that were measured side by side."""

    run: RunOutcome
    baseline: RunOutcome

    @property
    def exit_code(self) -> int:
        """That of the run, or of the baseline if the run itself went well."""
        return self.run.exit_code or self.baseline.exit_code

    def require_complete(self) -> None:
        self.run.require_complete()
        self.baseline.require_complete()


class InterleavedExecution:
    """Two runs under way whose jobs are measured side by side, each with its own counterpart."""

    def __init__(
        self,
        folders: BothFolders,
        launchers: tuple[Launcher, Launcher],
        observer: Observer,
        options: RunOptions,
        *,
        memory_bytes: int | None = None,
    ) -> None:
        assert folders.run.run.interleaving is not None
        self._threshold = folders.run.run.interleaving.threshold
        self._observer = observer
        self._run, self._baseline = (
            RunExecution(folder, launcher, listener, options, memory_bytes=memory_bytes)
            for folder, launcher, listener in zip(
                (folders.run, folders.baseline),
                launchers,
                (observer, BaselineObserver(observer)),
                strict=True,
            )
        )

    def run(self) -> BothOutcomes:
        """Measure what both still miss; merge all there is, also when interrupted."""
        with self._run.occupied():
            try:
                for side in (self._run, self._baseline):
                    side.begin()
                self._measure()
            except BaseException:
                for side in (self._run, self._baseline):
                    side.keep()
                raise
            baseline = self._baseline.end()
            return BothOutcomes(self._run.end(), baseline)

    def _measure(self) -> None:
        run, baseline = self._run, self._baseline
        for due in due_launches(run.folder, run.environment, self._observer.note):
            assert isinstance(due, DueGroup), "each of its jobs has a counterpart"
            for planned in due.jobs:
                drop_foreign_rounds(
                    planned, baseline.folder, baseline.environment, self._observer.note
                )
            # The baseline's records first, so that the run's are the latest of their series.
            sides, cells = (baseline, run), len(baseline.folder.cells)
            GroupExecution(due, sides, self._threshold, among=cells).take_rounds(due.round)


class BaselineObserver(PassingObserver):
    """Passes on the progress of a baseline, whose cells are counted as those of the run."""

    _job: Job | None = None

    def note(self, text: str, reason: Reason | None = None) -> None:
        super().note(f"baseline: {text}", reason)

    def image_step(self, line: str) -> None:
        """Drop the event."""

    def job_started(self, job: Job) -> None:
        self._job = job
        super().job_started(job.model_copy(update={"id": f"{job.id} of the baseline"}))

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Pass it on as one more round; what did not end well is noted."""
        if record.status != "ok":
            text = reason_text(record.ending) if record.ending else ""
            line = f"{cell.id}: {record.status}: {text.partition(chr(10))[0]}"
            self.note(line, record.ending)
        elif self._job is not None:
            self.cell_visited(cell, self._job)
