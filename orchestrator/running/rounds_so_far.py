"""The record of a cell whose last round was not measured, or not verified."""

from pydantic import ValidationError

from orchestrator.running.folder import RunFolder
from orchestrator.running.job_files import false_claim
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.reasons import Reason, facts_behind
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.record.verdict import RemedyCode, doubt, with_doubt
from runner.contract.rounds import raw_columns, read_rounds


def record_so_far(
    folder: RunFolder, cell: Cell, rounds: int, explanation: Reason, remedy: RemedyCode
) -> Record | None:
    """The record of a cell's first rounds; None if there are none, or they tell of none.

    The columns are those that the runner found with the last of them. They are a job's claims, and
    count as far as those of a record file would.
    """
    jobs = folder.job_files.launched(cell.job_id)
    if not rounds or not jobs:
        return None
    try:
        results = read_rounds(folder.out(cell.job_id), cell, rounds)
        so_far = results[-1].so_far
        columns = {**so_far, **raw_columns(results)}
        if rounds < (requested := jobs[-1].measure.rounds):
            facts = {"requested": requested, **facts_behind("before", explanation)}
            columns |= with_doubt(so_far, doubt("few_rounds", "B", rounds, remedy, **facts))
        record = Record.of(jobs[-1], cell, Outcome(status="ok"), columns) if so_far else None
    except (RecordError, DamagedFile, ValidationError, TypeError):
        return None
    return None if record is None or false_claim(record, cell, jobs[-1:]) else record
