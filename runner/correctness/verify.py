"""Correctness: a session's outputs for the fixed input against the fp32 CPU reference."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from runner.backends.base import Session
from runner.backends.failures import reason_of
from runner.contract.errors import BenchError
from runner.contract.graph import fixed_shape
from runner.contract.job import Job
from runner.contract.record import Columns
from runner.correctness.compare_outputs import AnyArray, compare
from runner.correctness.reference import TOKENS, fixed_cell, outputs_of, tokens_of
from runner.measure.clock import Clock


def verify(session: Session, job: Job, references: Path | None, clock: Clock) -> Columns:
    """The columns that tell how far this session's outputs agree with the reference.

    What keeps the comparison from being made is a reason, never a failure of the cell.
    """
    cell = job.cells[0]
    try:
        reference = dict(read_reference(references, job))
        outputs = outputs_of(session, job)
        tokens = None
        if cell.mode == "generation":
            tokens = (tokens_of(session, job, clock), reference.pop(TOKENS))
        found = compare(outputs, reference, tokens, cell.precision)
        return {**found, "verified_shape": fixed_shape(fixed_cell(job))}
    except BenchError as error:
        return {"correct": None, "correct_reason": str(error)}
    except Exception as error:  # a model may refuse the fixed input in any way
        return {"correct": None, "correct_reason": f"not compared: {reason_of(error)}"}


def read_reference(references: Path | None, job: Job) -> Mapping[str, AnyArray]:
    """What the job's reference holds.

    Raises:
        BenchError: there is none.
    """
    if references is None or job.reference is None:
        raise BenchError("no reference: the launcher gave none")
    path = references / f"{job.reference}.npz"
    failure = references / f"{job.reference}.failed"
    if path.exists():
        with np.load(path) as file:
            return dict(file)
    why = failure.read_text("utf-8").strip() if failure.exists() else "nobody computed it"
    raise BenchError(f"no reference: {why}")
