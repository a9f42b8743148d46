"""Verdicts that the host gives cells which it does not launch."""

from collections.abc import Iterable

from orchestrator.planning.plan import Plan
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from runner.contract.cell import Cell
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
