"""Verdicts that the host gives cells which it does not launch."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from orchestrator.planning.plan import Plan
from orchestrator.running.artifacts.references import is_verified
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.store.merge.report import MergeReport
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
    """Record cells that were never launched; what ran out of memory was predicted to.

    Raises:
        StoreError: the results folder takes no more records.
    """
    for cell in cells:
        job = folder.job([cell], folder.nowhere)
        outcome = Outcome.because(status, reason, "plan")
        record = Record.of(job, cell, outcome, {"predicted": status == "out_of_memory"})
        folder.save(record)
        observer.cell_ended(cell, record)


def save_skips(folder: RunFolder, observer: Observer, plan: Plan | None = None) -> None:
    """Record the cells that the plan skips.

    Args:
        folder: the run's folder.
        observer: is told of the verdicts.
        plan: a later plan of some of its cells; None for the run's own.

    Raises:
        StoreError: the results folder takes no more records.
    """
    for entry in (plan or folder.run.plan).with_decision("skip"):
        if entry.status and folder.record_of(entry.cell) is None:
            save_verdicts(folder, observer, [entry.cell], entry.status, entry.reason)


FAILURES: Collection[Status] = ("failed", "lost", "timeout", "out_of_memory")
"""The verdicts of cells that began and did not end well."""


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: what is in the database, and what went wrong."""

    merged: MergeReport
    """The merge into the database."""
    troubles: tuple[BenchError, ...]
    """Errors that kept cells from being launched, each once."""
    failures: int
    """Cells whose verdict counts as a failure."""
    measured: int
    """Cells that ended well."""
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
        """Insist that the database has a sound verdict of each planned cell.

        Raises:
            StoreError: it lacks some, and neither engine nor image is the reason that goes before.
        """
        if self._obstacle is None:
            self.merged.require_complete()

    @property
    def _obstacle(self) -> BenchError | None:
        """The first error of engine or images, if there was one."""
        kinds = (EngineUnavailable, ImageError)
        return next((error for error in self.troubles if isinstance(error, kinds)), None)


def outcome_of(
    folder: RunFolder, merged: MergeReport, troubles: Sequence[BenchError]
) -> RunOutcome:
    """The outcome of a run whose records were merged."""
    sound = folder.sound_records()
    records = [(cell, sound[cell.id]) for cell in folder.cells if cell.id in sound]
    failures = sum(record.status in FAILURES and not record.predicted for _, record in records)
    measured = sum(record.status == "ok" for _, record in records)
    incorrect = sum(_is_incorrect(cell, record) for cell, record in records)
    verifies = folder.run.purpose == "verify"
    return RunOutcome(merged, tuple(troubles), failures, measured, incorrect if verifies else 0)


def _is_incorrect(cell: Cell, record: Record) -> bool:
    """True if a verification must not pass the cell: it is wrong, or nothing shows it is right."""
    if record.correct is False or record.proof == "contradicted":
        return True
    unshown = record.correct is None or record.proof == "none"
    return record.status == "ok" and unshown and is_verified(cell)
