"""The end of a run: verdicts on cells that are launched no more, the merge, what went wrong."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.planning.plan import Plan
from orchestrator.running.artifacts.references import is_verified
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.observer import Observer
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.store import Store
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    NothingToDo,
    StoreError,
)
from runner.contract.reasons import Reason
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.record.verdict import Status


def save_verdicts(
    folder: RunFolder,
    observer: Observer,
    cells: Iterable[Cell],
    status: Status,
    reason: Reason | None,
) -> None:
    """Record cells that were never launched; what ran out of memory was predicted to."""
    for cell in cells:
        job = folder.run.job([cell], folder.nowhere)
        outcome = Outcome.because(status, reason, "plan")
        record = Record.of(job, cell, outcome, {"predicted": status == "out_of_memory"})
        folder.save(record)
        observer.cell_ended(cell, record)


def save_skips(folder: RunFolder, observer: Observer, plan: Plan | None = None) -> None:
    """Record the cells that the plan skips, the run's own unless a later plan is given."""
    for entry in (plan or folder.run.plan).with_decision("skip"):
        if entry.status and folder.record_of(entry.cell) is None:
            save_verdicts(folder, observer, [entry.cell], entry.status, entry.reason)


FAILURES: Collection[Status] = ("failed", "lost", "timeout", "out_of_memory")
"""The verdicts of cells that began and did not end well."""


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: what is in the database, and what went wrong."""

    merged: MergeReport
    troubles: tuple[BenchError, ...]
    failures: int
    measured: int
    incorrect: int = 0
    """Cells not found right on the claimed device, if verifying was all that was asked."""

    @property
    def exit_code(self) -> int:
        """0 when each planned cell has a verdict, one at least ended well and none failed.

        What has to be mended first is told: engine or image, then records, then what was measured.
        """
        if self._obstacle is not None:
            return self._obstacle.exit_code
        if not self.merged.is_complete:
            return StoreError.exit_code
        if self.failures or self.incorrect:
            return 1
        return 0 if self.measured else NothingToDo.exit_code

    def require_complete(self) -> None:
        """Insist that the database has a sound verdict of each planned cell."""
        if self._obstacle is None:
            self.merged.require_complete()

    @property
    def _obstacle(self) -> BenchError | None:
        kinds = (EngineUnavailable, ImageError)
        return next((error for error in self.troubles if isinstance(error, kinds)), None)


def outcome_of(
    folder: RunFolder, merged: MergeReport, troubles: Sequence[BenchError]
) -> RunOutcome:
    sound = folder.sound_records()
    records = [(cell, sound[cell.id]) for cell in folder.cells if cell.id in sound]
    failures = sum(record.status in FAILURES and not record.predicted for _, record in records)
    measured = sum(record.status == "ok" for _, record in records)
    incorrect = sum(_is_incorrect(cell, record) for cell, record in records)
    verifies = folder.run.purpose == "verify"
    return RunOutcome(merged, tuple(troubles), failures, measured, incorrect if verifies else 0)


def end_run(
    folder: RunFolder,
    database: Path,
    troubles: Sequence[BenchError],
    observer: Observer,
    then: Callable[[Store], None] | None = None,
) -> RunOutcome:
    """Merge all that was measured into the database, which `then` may ask."""
    merged = merge_run(folder, database, then)
    outcome = outcome_of(folder, merged, troubles)
    if outcome.exit_code != StoreError.exit_code and not merged.is_complete:
        observer.note(merged.faults)
    return outcome


def _is_incorrect(cell: Cell, record: Record) -> bool:
    """True if a verification must not pass the cell: it is wrong, or nothing shows it is right."""
    if record.correct is False or record.proof == "contradicted":
        return True
    unshown = record.correct is None or record.proof == "none"
    return record.status == "ok" and unshown and is_verified(cell)
