"""The end of a run: its verdicts, counted, and what went wrong."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.running.artifacts.references import is_verified
from orchestrator.running.folder import RunFolder
from orchestrator.store.merge.report import MergeReport
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    NothingToDo,
    StoreError,
)
from runner.contract.record.record import Record
from runner.contract.record.verdict import Status

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
