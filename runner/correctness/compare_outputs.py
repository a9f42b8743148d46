"""Agreement of outputs with the fp32 reference: three differences, each with its tolerance.

Each output is allowed three times what honest arithmetic of the same precision differs by in it
(`runner.correctness.tolerance`), as a whole, at the worst position and in the mean of positions.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from runner.contract.cell import Precision
from runner.contract.reasons import Reason, ReasonCode, reason, reason_columns
from runner.correctness.differences import (
    AnyArray,
    Arrays,
    Difference,
    Measured,
    array_shapes,
    measure_outputs,
    output_name,
    token_agreement,
)
from runner.correctness.honest import honest_of_catalogue
from runner.correctness.tolerance import TOLD, tolerance_of

_DIFFERS: Mapping[str, ReasonCode] = {
    "relative": "outputs_differ",
    "row": "outputs_differ_at_worst",
    "mean": "outputs_differ_in_mean",
}
"""The reason for each kind of difference."""


class Nearest(NamedTuple):
    """The difference that is nearest to its tolerance, or farthest beyond it."""

    share: float
    """The difference by its tolerance."""
    name: str
    """The output."""
    kind: str
    """The kind of difference."""


def compare_outputs(
    outputs: Arrays,
    reference: Arrays,
    tokens: tuple[AnyArray, AnyArray] | None,
    precision: Precision,
    honest: Mapping[str, Difference] | None = None,
    method: str | None = None,
) -> dict[str, Any]:
    """The columns about the agreement of outputs and tokens; the worst output counts.

    Outputs of other names or shapes than the reference's are wrong, whatever they hold.

    Args:
        outputs: the arrays to be judged, by name.
        reference: those of the fp32 reference.
        tokens: generated tokens and the reference's; their agreement is told and decides nothing.
        precision: the precision that computed the outputs.
        honest: by output, the differences of that precision's own arithmetic; None takes the
            catalogue's.
        method: the name of the arithmetic, see `METHODS` of `runner.correctness.tolerance`.
    """
    allowed = allowed_differences(reference, precision, honest, method)
    agreement = None if tokens is None else token_agreement(*tokens)
    return {**judge_outputs(outputs, reference, allowed, precision), "token_agreement": agreement}


def allowed_differences(
    outputs: Arrays,
    precision: Precision,
    honest: Mapping[str, Difference] | None = None,
    method: str | None = None,
) -> dict[str, Difference]:
    """The tolerance of each output; further arguments as of `compare_outputs`."""
    known = honest or honest_of_catalogue(outputs, precision)
    return {name: tolerance_of(precision, known.get(output_name(name)), method) for name in outputs}


def judge_outputs(
    outputs: Arrays, reference: Arrays, allowed: Mapping[str, Difference], precision: Precision
) -> dict[str, Any]:
    """The same columns, without the tokens', by tolerances that are given for each output."""
    shapes, expected = array_shapes(outputs), array_shapes(reference)
    if shapes != expected:
        explanation = reason("shapes_differ", outputs=shapes, reference=expected)
        return {"correct": False, **reason_columns("correct", explanation)}
    measured = measure_outputs(outputs, reference)
    nearest = max(_shares(measured, allowed))
    difference, tolerance = measured[nearest.name].difference, allowed[nearest.name]
    correct, objection = _verdict(nearest, measured, tolerance, precision)
    return {
        # By numpy, since Python's max and min step over NaN.
        "difference_max_abs": float(np.max([one.max_abs for one in measured.values()])),
        "difference_relative": difference.relative,
        "difference_row": difference.row,
        "difference_mean": difference.mean,
        "cosine_similarity": float(np.min([one.cosine for one in measured.values()])),
        "tolerance": tolerance.relative,
        "tolerance_row": tolerance.row,
        "tolerance_mean": tolerance.mean,
        "tolerance_share": nearest.share,
        "difference_where": f"{nearest.kind} of {nearest.name}",
        "correct": correct,
        **reason_columns("correct", objection),
    }


def _shares(measured: Mapping[str, Measured], allowed: Mapping[str, Difference]) -> list[Nearest]:
    return [
        Nearest(math.inf if math.isnan(value) else value / most, name, kind)
        for name, one in measured.items()
        for kind, value, most in zip(Difference._fields, one.difference, allowed[name], strict=True)
    ]


def _verdict(
    nearest: Nearest, measured: Mapping[str, Measured], tolerance: Difference, precision: Precision
) -> tuple[bool | None, Reason | None]:
    """True, False or that nothing can tell, with the reason why it is not True."""
    if nearest.share > 1:
        return False, reason(
            _DIFFERS[nearest.kind],
            difference=getattr(measured[nearest.name].difference, nearest.kind),
            output=nearest.name,
            precision=precision,
            allowed=getattr(tolerance, nearest.kind),
        )
    farthest, name = max((one.difference.relative, name) for name, one in measured.items())
    if farthest > TOLD:
        facts = {"difference": farthest, "output": name, "precision": precision}
        return None, reason("maybe_rounding", **facts)
    return True, None
