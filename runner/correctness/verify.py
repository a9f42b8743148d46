"""Verify a session's outputs for the fixed input against the fp32 CPU reference."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from runner.backends.base import Session, failure_reason
from runner.contract.cell import Precision
from runner.contract.errors import BenchError
from runner.contract.graph import fixed_shape
from runner.contract.job import Job
from runner.contract.record import Columns
from runner.correctness.compare_outputs import AnyArray, compare_outputs
from runner.correctness.reference import (
    GENERATED_TOKENS,
    HONEST_DIFFERENCE,
    compute_outputs,
    compute_steps,
    fixed_cell,
    generate_tokens,
)
from runner.correctness.tolerance import Difference
from runner.measure.clock import Clock


def verify_session(session: Session, job: Job, references: Path | None, clock: Clock) -> Columns:
    """The columns about the agreement of this session's outputs with the reference.

    An obstacle to the comparison becomes a reason, never a failure of the cell.
    """
    cell = job.cells[0]
    try:
        reference = dict(read_reference(references, job))
        honest = _take_honest(reference, cell.precision)
        outputs = compute_outputs(session, job)
        tokens = None
        if cell.mode == "generation":
            tokens = (generate_tokens(session, job, clock), reference.pop(GENERATED_TOKENS))
            outputs |= compute_steps(session, job, clock)
        columns = compare_outputs(outputs, reference, tokens, cell.precision, honest)
        return {**columns, "verified_shape": fixed_shape(fixed_cell(job))}
    except BenchError as error:
        return {"correct": None, "correct_reason": str(error)}
    except Exception as error:  # a model may refuse the fixed input in any way
        return {"correct": None, "correct_reason": f"not compared: {failure_reason(error)}"}


def read_reference(references: Path | None, job: Job) -> Mapping[str, AnyArray]:
    """The arrays of the job's reference.

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
    reason = failure.read_text("utf-8").strip() if failure.exists() else "not computed"
    raise BenchError(f"no reference: {reason}")


def _take_honest(reference: dict[str, AnyArray], precision: Precision) -> Difference | None:
    """Remove the differences of all precisions from the reference, and return this one's."""
    names = [name for name in reference if name.startswith(HONEST_DIFFERENCE)]
    honest = {name.removeprefix(HONEST_DIFFERENCE): reference.pop(name) for name in names}
    return Difference(*map(float, honest[precision])) if precision in honest else None
