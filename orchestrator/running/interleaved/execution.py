"""Two runs under way whose launches take turns: a run, and the baseline it is compared with."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

from analysis.regress.verdicts import is_baseline_first, looks_from, pairs_to_take
from orchestrator.launchers.base import Launcher
from orchestrator.planning.schedule import planned_jobs
from orchestrator.running.due import DueLaunch, drop_foreign_rounds, due_launches
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.interleaved.folders import BothFolders
from orchestrator.running.observer import BaselineObserver, Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from runner.contract.cell import Cell
from runner.contract.reasons import ReasonCode, reason
from runner.contract.record.record import Record
from runner.contract.rounds import read_rounds


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
        """Insist that the database has a sound verdict of each cell of both.

        Raises:
            StoreError: it lacks some, and neither engine nor image is the reason that goes before.
        """
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
        """The execution of what both folders have left.

        Args:
            folders: those of the run and of its baseline.
            launchers: where the jobs of the run execute, and those of the baseline.
            observer: is told of the progress.
            options: database, budget and when to stop; the rest is the folders' own.
            memory_bytes: host memory that a job may use without limits; None if nobody knows.
        """
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
        self._both = (self._run, self._baseline)

    def run(self) -> BothOutcomes:
        """Measure what both still miss; merge all there is, also when interrupted."""
        with self._run.occupied():
            try:
                for side in self._both:
                    side.begin()
                self._drop_foreign()
                self._even_out(self._baseline.folder.cells)
                folder, environment = self._run.folder, self._run.environment
                for due in due_launches(folder, environment, self._observer.note):
                    self._measure(due)
            except BaseException:
                for side in self._both:
                    side.keep()
                raise
            baseline = self._baseline.end()
            return BothOutcomes(self._run.end(), baseline)

    def _drop_foreign(self) -> None:
        """Drop rounds of both that ran in another environment than those to come will."""
        for side in self._both:
            for planned in planned_jobs(side.folder.run.plan):
                drop_foreign_rounds(planned, side.folder, side.environment, self._observer.note)

    def _even_out(self, cells: Iterable[Cell]) -> None:
        """Leave whole pairs alone: what one side has beyond the other is measured anew, in pairs.

        Where the other side ended without a measurement there will be none, and this one ends with
        what it has.
        """
        for cell in cells:
            records = [side.folder.record_of(cell) for side in self._both]
            if None not in records:
                continue
            for side, other, record in self._with_fellows(records):
                if record is not None and record.status != "ok":
                    self._end_beside(other, cell, record)
                elif record is not None:
                    side.folder.forget([cell])
            counts = [side.folder.rounds.count(cell) for side in self._both]
            for side in self._both:
                if side.folder.record_of(cell) is None:
                    side.folder.rounds.drop([cell], kept=min(counts))

    def _measure(self, due: DueLaunch) -> None:
        """Launch one pair, or one for the cells that it ends and one for the others."""
        self._even_out(due.cells)
        if explanation := self._run.stop_reason() or self._baseline.stop_reason():
            for side in self._both:
                side.stop(due, explanation)
            return
        groups: dict[int, list[Cell]] = {}
        for cell in due.cells:
            groups.setdefault(self._pairs_planned(cell, due.round), []).append(cell)
        for pairs, group in sorted(groups.items()):
            self._launch_pair(DueLaunch(tuple(group), due.round), pairs)

    def _pairs_planned(self, cell: Cell, pair: int) -> int:
        """The number of pairs that the cell takes, by those before this one."""
        measure = self._run.folder.run.plan.measure[cell.backend]
        after, before = (self._logarithms(side.folder, cell, pair - 1) for side in self._both)
        return pairs_to_take(before, after, looks_from(measure.rounds), self._threshold)

    def _logarithms(self, folder: RunFolder, cell: Cell, rounds: int) -> list[float]:
        """The logarithms of the times of a sample by the medians of the cell's first rounds."""
        results = read_rounds(folder.out(cell.job_id), cell, rounds)
        return [
            math.log(max(1.0, median(result.durations_ns)) * len(result.durations_ns))
            - math.log(max(1, result.samples))
            for result in results
        ]

    def _launch_pair(self, due: DueLaunch, pairs: int) -> None:
        """Launch a round on both sides; a cell that ends on one side ends on the other as well."""
        left = due
        for side in self._order(due.round):
            if not left.cells:
                return
            if side is self._baseline:
                self._run.make_artifacts(left)  # the baseline's image may know no such versions
            side.launch(left, pairs)
            ended = {cell: record for cell in left.cells if (record := _failure(side, cell))}
            for cell, record in ended.items():
                self._end_beside(self._fellow(side), cell, record)
            left = replace(left, cells=tuple(cell for cell in left.cells if cell not in ended))
        for cell in left.cells:
            records = [side.folder.record_of(cell) for side in self._both]
            for _, other, record in self._with_fellows(records):
                if record is not None and other.folder.record_of(cell) is None:
                    self._end_beside(other, cell, record)

    def _order(self, pair: int) -> tuple[RunExecution, ...]:
        return self._both[::-1] if is_baseline_first(pair) else self._both

    def _fellow(self, side: RunExecution) -> RunExecution:
        return self._baseline if side is self._run else self._run

    def _with_fellows(
        self, records: Iterable[Record | None]
    ) -> Iterator[tuple[RunExecution, RunExecution, Record | None]]:
        for side, record in zip(self._both, records, strict=True):
            yield side, self._fellow(side), record

    def _end_beside(self, side: RunExecution, cell: Cell, record: Record) -> None:
        """End a cell by the rounds that it has, since it has ended on the other side."""
        if side.folder.record_of(cell) is not None:
            return
        code: ReasonCode = "baseline_ended" if side is self._run else "compared_ended"
        done = side.folder.rounds.count(cell)
        status = None if record.status == "ok" else record.status
        side.break_off(DueLaunch((cell,), done + 1), reason(code, status=status), "read_why")


def _failure(side: RunExecution, cell: Cell) -> Record | None:
    """The record of a cell that did not end well; None if it did, or goes on."""
    record = side.folder.record_of(cell)
    return record if record is not None and record.status != "ok" else None
