"""The record of a cell whose run ends before its last round, from the rounds that it had."""

from typing import Any

from pydantic import ValidationError

from orchestrator.running.claims import false_claim
from orchestrator.running.folder import RunFolder
from orchestrator.running.job_files import JobFiles
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.job import Measure
from runner.contract.reasons import Reason, facts_behind
from runner.contract.record.doubts import RemedyCode, doubt, with_doubt
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Columns, Record
from runner.contract.record.verdict import Grade
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
