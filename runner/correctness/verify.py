"""Verify a session's outputs for the fixed input against the fp32 CPU reference."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runner.backends.base import FloatArray, Session
from runner.backends.graphs.feeds import Tokens
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, reason_of
from runner.contract.graph import fixed_shape
from runner.contract.job import Job
from runner.contract.reasons import Reason, parse_reason, reason, reason_columns, reason_from
from runner.contract.record.record import Columns
from runner.correctness.compare_outputs import (
    FLOORS,
    allowed_differences,
    compare_outputs,
    method_of,
)
from runner.correctness.differences import AnyArray, Difference
from runner.correctness.gradients import compare_step, take_step
from runner.correctness.honest import take_honest
from runner.correctness.named_precision import judge_weights, take_weights, with_reason
from runner.correctness.reference import (
    GENERATED_TOKENS,
    STEPS,
    bind_fixed_prompt,
    compute_outputs,
    compute_step,
    compute_steps,
    fixed_cell,
)
from runner.correctness.timed_shape import compare_timed, is_compiled_for
from runner.measure.clock import Clock

WHERE = "choice of tokens"


def judge_choices(columns: Columns, logits: FloatArray, tokens: Tokens, most: float) -> Columns:
    """The columns, changed if choices are nearer to what is allowed than differences are.

    A token lacks what its logit is below the largest one, by the root mean square of all; `most` is
    allowed. The logits are those before each token, with all earlier ones fed: [batch, steps,
    vocabulary].
    """
    numbers = logits.astype(np.float64)
    chosen = np.take_along_axis(numbers, tokens[..., np.newaxis], axis=-1)[..., 0]
    size = float(np.sqrt(np.mean(numbers**2)))
    lacks = (numbers.max(axis=-1) - chosen) / (size or 1.0)
    share = float(lacks.max(initial=0.0)) / most
    if not share > columns.get("tolerance_share", np.inf):
        return columns
    changed: Columns = {**columns, "tolerance_share": share, "difference_where": WHERE}
    if share <= 1 or columns["correct"] is False:
        return changed
    explanation = reason("unlikely_tokens", wrong=int((lacks > most).sum()), tokens=lacks.size)
    return {**changed, "correct": False, **reason_columns("correct", explanation)}


_ORDER = (False, None, True)  # verdicts, the one first that counts for several comparisons


class Reference(NamedTuple):
    """The content of a reference that counts for one precision."""

    outputs: dict[str, AnyArray]  # the fp32 outputs, with generated tokens
    honest: Mapping[str, Difference]  # by output, its differences; empty if there are none
    failure: Reason | None  # the reason why there are none
    weights: Mapping[str, AnyArray]  # by parameter, some of its elements in fp32


def verify_session(
    session: Session,
    job: Job,
    references: Path | None,
    clock: Clock,
    observed: Columns | None = None,
) -> Columns:
    """The columns about the agreement of this session's outputs with the reference.

    An obstacle to the comparison becomes a reason, never a failure of the cell.
    """
    cell = job.cells[0]
    method = method_of(cell, observed or {})

    def compare() -> Columns:
        reference = read_reference(references, job, cell.precision)
        outputs, expected, tokens = compute_outputs(session, job), reference.outputs, None
        if cell.mode == "generation":
            generated = bind_fixed_prompt(session, job, clock)().tokens
            tokens = (generated, expected.pop(GENERATED_TOKENS))
            outputs |= compute_steps(session, job, clock)
        step = take_step(expected)
        columns: Columns = compare_outputs(
            outputs, expected, tokens, cell.precision, reference.honest, method
        )
        if tokens is not None and STEPS in outputs:
            logits = bind_fixed_prompt(session, job, clock).forced(tokens[0])
            columns = judge_choices(columns, logits, tokens[0], FLOORS[cell.precision].row)
        columns = {**columns, "verified_shape": fixed_shape(fixed_cell(job))}
        if reference.failure and not columns["correct"]:
            facts = {"cause": found_in(columns), "honest": reference.failure}
            columns = {**columns, **reason_columns("correct", reason("by_catalogue", **facts))}
        if cell.mode == "training":
            trained = compare_step(cell, compute_step(session, job, clock), step)
            columns = {**trained, **columns, **_decisive(trained, columns)}
        weights = judge_weights(cell.precision, session, reference.weights)
        return with_reason(columns, weights)

    return _guarded(compare)


def verify_timed(
    session: Session, job: Job, cell: Cell, references: Path | None, observed: Columns
) -> Columns:
    """The same at the cell's own shape, which is bound last, if a program was compiled for it."""
    if not is_compiled_for(cell, observed):
        return {}
    shape = fixed_shape(cell)

    def compare() -> Columns:
        outputs, honest, _, _ = read_reference(references, job, cell.precision)
        method = method_of(cell, observed)
        allowed = allowed_differences(outputs, cell.precision, honest, method)
        columns = compare_timed(session, job, cell, outputs, allowed)
        return {**columns, "verified_shape": shape} if columns else {}

    columns = _guarded(compare)
    cause = found_in(columns)
    if cause is None:
        return columns
    return {**columns, **reason_columns("correct", reason("at_shape", shape=shape, cause=cause))}


def join_verified(fixed: Columns, timed: Columns) -> Columns:
    """The columns of both comparisons: those of the one that counts, and both shapes."""
    if not timed:
        return fixed
    if None in {fixed.get("correct"), timed.get("correct")}:
        return _decisive(fixed, timed)
    shapes = (fixed.get("verified_shape"), timed.get("verified_shape"))
    verified = {"verified_shape": ", ".join(str(shape) for shape in shapes if shape)}

    def rank(columns: Columns) -> tuple[bool, float]:
        share = columns.get("tolerance_share")
        return not columns["correct"], float(share) if isinstance(share, float) else np.inf

    counts = max(fixed, timed, key=rank)
    return {**counts, "token_agreement": fixed.get("token_agreement"), **verified}


def read_reference(references: Path | None, job: Job, precision: Precision) -> Reference:
    if references is None or job.reference is None:
        raise BenchError(reason("no_reference_given"))
    path = references / f"{job.reference}.npz"
    failure = references / f"{job.reference}.failed"
    if path.exists():
        with np.load(path) as file:
            outputs = dict(file)
        return Reference(outputs, *take_honest(outputs, precision), take_weights(outputs))
    if not failure.exists():
        raise BenchError(reason("reference_not_computed"))
    raise BenchError(reason("no_reference", cause=parse_reason(failure.read_text("utf-8"))))


def _decisive(one: Columns, other: Columns) -> Columns:
    """The columns of the comparison whose verdict counts for both; of equal ones the first."""
    return min((one, other), key=lambda columns: _ORDER.index(columns.get("correct")))


def _guarded(compare: Callable[[], Columns]) -> Columns:
    try:
        return compare()
    except BenchError as error:
        explanation = error.reason
    except Exception as error:  # a model may refuse the fixed input in any way
        explanation = reason("not_compared", cause=reason_of(error))
    return {"correct": None, **reason_columns("correct", explanation)}


def found_in(columns: Columns) -> Reason | None:
    return reason_from(columns.get("correct_code"), columns.get("correct_facts"))
