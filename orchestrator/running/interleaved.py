"""Two runs whose launches take turns: a run, and the baseline that it is compared with."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Self

from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan, RunSource, planned_jobs
from orchestrator.running.create import new_run_file, require_resumable, require_runnable
from orchestrator.running.due_launches import DueLaunch, drop_foreign_rounds, due_launches
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.observer import Observer, PassingObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.run_file import Interleaving, RecordedVersion, new_run_id
from orchestrator.screen.words.reasons import reason_text
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.reasons import Reason, ReasonCode, reason
from runner.contract.record.record import Record
from runner.contract.rounds import read_rounds


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


@dataclass(frozen=True)
class BothFolders:
    """The folders of two runs whose launches take turns."""

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
    recorded = RecordedVersion(
        compared=run_id, images=tuple(version.images), graphs=dict(version.graphs)
    )
    to_run = plan.model_copy(
        update={
            "entries": tuple(plan.with_decision("run")),
            "models": {**plan.models, **version.models},
        }
    )
    untraced = replace(first.options, trace=False)
    baseline = first.model_copy(update={"plan": to_run, "options": untraced, "version": recorded})
    turns = Interleaving(baseline=baseline, threshold=threshold)
    run = first.model_copy(update={"run_id": run_id, "interleaving": turns})
    # The run's own folder first: it names the baseline in full, so that `open` can make the other.
    return BothFolders(RunFolder.create(results, run), RunFolder.create(results, baseline))


@dataclass(frozen=True)
class BothOutcomes:
    """The ends of two runs whose launches took turns."""

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
    """Two runs under way: each launch of the one has its fellow among those of the other."""

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
        beside = BaselineObserver(observer)
        self._run, self._baseline = (
            RunExecution(folder, launcher, listener, options, memory_bytes=memory_bytes)
            for folder, launcher, listener in zip(
                (folders.run, folders.baseline), launchers, (observer, beside), strict=True
            )
        )
        self._sides = ((self._run, self._baseline), (self._baseline, self._run))

    def run(self) -> BothOutcomes:
        """Measure what both still miss; merge all there is, also when interrupted."""
        with self._run.occupied():
            try:
                for side, _ in self._sides:
                    side.begin()
                for side, _ in self._sides:
                    for planned in planned_jobs(side.folder.run.plan):
                        drop_foreign_rounds(
                            planned, side.folder, side.environment, self._observer.note
                        )
                self._even_out(self._baseline.folder.cells)
                folder, environment = self._run.folder, self._run.environment
                for due in due_launches(folder, environment, self._observer.note):
                    self._measure(due)
            except BaseException:
                for side, _ in self._sides:
                    side.keep()
                raise
            baseline = self._baseline.end()
            return BothOutcomes(self._run.end(), baseline)

    def _even_out(self, cells: Iterable[Cell]) -> None:
        """Leave whole pairs alone: what one side has beyond the other is measured anew, in pairs.

        Where the other side ended without a measurement there will be none, and this one ends with
        what it has.
        """
        for cell in cells:
            records = [side.folder.record_of(cell) for side, _ in self._sides]
            if None not in records:
                continue
            for (side, other), record in zip(self._sides, records, strict=True):
                if record is not None and record.status != "ok":
                    self._end_beside(other, cell, record)
                elif record is not None:
                    side.folder.forget([cell])
            counts = [side.folder.rounds.count(cell) for side, _ in self._sides]
            for side, _ in self._sides:
                if side.folder.record_of(cell) is None:
                    side.folder.rounds.drop([cell], kept=min(counts))

    def _measure(self, due: DueLaunch) -> None:
        """Launch one pair, or one for the cells that it ends and one for the others."""
        self._even_out(due.cells)
        if explanation := self._run.stop_reason() or self._baseline.stop_reason():
            for side, _ in self._sides:
                side.break_off(due, explanation)
            return
        groups: dict[int, list[Cell]] = {}
        for cell in due.cells:
            groups.setdefault(self._pairs_planned(cell, due.round), []).append(cell)
        for pairs, group in sorted(groups.items()):
            self._launch_pair(DueLaunch(tuple(group), due.round), pairs)

    def _pairs_planned(self, cell: Cell, pair: int) -> int:
        """The number of pairs that the cell takes, by those before this one."""
        from analysis.regress.verdicts import looks_from, pairs_to_take

        measure = self._run.folder.run.plan.measure[cell.backend]
        after, before = (_logarithms(side.folder, cell, pair - 1) for side, _ in self._sides)
        pairs = pairs_to_take(before, after, looks_from(measure.rounds), self._threshold)
        return min(pairs, measure.most_rounds)

    def _launch_pair(self, due: DueLaunch, pairs: int) -> None:
        """Launch a round on both sides; a cell that ends on one side ends on the other as well."""
        from analysis.regress.verdicts import is_baseline_first

        left = due
        for side, other in self._sides[::-1] if is_baseline_first(due.round) else self._sides:
            if not left.cells:
                return
            if side is self._baseline:
                self._run.make_artifacts(left)  # the baseline's image may know no such versions
            side.launch(left, pairs)
            records = {cell: side.folder.record_of(cell) for cell in left.cells}
            for cell, record in records.items():
                if record is not None and record.status != "ok":
                    self._end_beside(other, cell, record)
            ended = {cell for cell, record in records.items() if record and record.status != "ok"}
            left = replace(left, cells=tuple(cell for cell in left.cells if cell not in ended))
        for cell in left.cells:
            for side, other in self._sides:
                if (record := side.folder.record_of(cell)) is not None:
                    self._end_beside(other, cell, record)

    def _end_beside(self, side: RunExecution, cell: Cell, record: Record) -> None:
        """End a cell by the rounds that it has, since it has ended on the other side."""
        if side.folder.record_of(cell) is not None:
            return
        code: ReasonCode = "baseline_ended" if side is self._run else "compared_ended"
        done = side.folder.rounds.count(cell)
        status = None if record.status == "ok" else record.status
        side.break_off(DueLaunch((cell,), done + 1), reason(code, status=status), "read_why")


def _logarithms(folder: RunFolder, cell: Cell, rounds: int) -> list[float]:
    """The logarithms of the times of a sample by the medians of the cell's first rounds."""
    results = read_rounds(folder.out(cell.job_id), cell, rounds)
    return [
        math.log(max(1.0, median(result.durations_ns)) * len(result.durations_ns))
        - math.log(max(1, result.samples))
        for result in results
    ]


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
