"""Compare outputs and tokens with a reference, by the tolerance of a precision."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.contract.cell import Precision

AnyArray = npt.NDArray[np.generic]

TOLERANCES: Mapping[Precision, float] = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2, "int8": 3e-1}
"""Relative difference that is allowed. A format of p bits of precision rounds each operation by
2^-p (fp32 24, fp16 11, bf16 8); the allowance leaves room for the sums of a deep model."""

LEAST_TOKEN_AGREEMENT: Mapping[Precision, float] = {"fp32": 0.9}
"""Share of greedy tokens that must agree. Other precisions may flip near ties, after which all
further tokens differ, so there the agreement is reported but does not decide."""


def compare_outputs(
    outputs: Mapping[str, AnyArray],
    reference: Mapping[str, AnyArray],
    tokens: tuple[AnyArray, AnyArray] | None,
    precision: Precision,
) -> dict[str, Any]:
    """The columns about the agreement of outputs and tokens; the worst output counts.

    Outputs of other names or shapes than the reference's are wrong, whatever they hold.
    """
    shapes, expected = array_shapes(outputs), array_shapes(reference)
    if shapes != expected:
        reason = f"names or shapes differ: outputs {shapes}, reference {expected}"
        return {"correct": False, "correct_reason": reason}
    pairs = [(outputs[name], reference[name]) for name in sorted(reference)]
    # By numpy, since Python's max and min step over NaN.
    measures = {
        "difference_max_abs": float(np.max([_max_abs(*pair) for pair in pairs])),
        "difference_relative": float(np.max([relative_difference(*pair) for pair in pairs])),
        "cosine_similarity": float(np.min([cosine_similarity(*pair) for pair in pairs])),
        "token_agreement": None if tokens is None else token_agreement(*tokens),
        "tolerance": TOLERANCES[precision],
    }
    objection = _objection(measures, precision)
    return {**measures, "correct": objection is None, "correct_reason": objection}


def array_shapes(arrays: Mapping[str, AnyArray]) -> dict[str, list[int]]:
    """The shape of each array, by name."""
    return {name: list(array.shape) for name, array in sorted(arrays.items())}


def relative_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Euclidean norm of the difference by that of the reference; 0 if both are 0."""
    difference = np.linalg.norm(_flat(ours) - _flat(theirs))
    norm = np.linalg.norm(_flat(theirs))
    if norm == 0:
        return 0.0 if difference == 0 else float("inf")
    return float(difference / norm)


def cosine_similarity(ours: AnyArray, theirs: AnyArray) -> float:
    """Cosine of the angle between the two as vectors; 1 if both are 0, 0 if one is."""
    norms = np.linalg.norm(_flat(ours)) * np.linalg.norm(_flat(theirs))
    if norms == 0:
        return float(not _flat(ours).any() and not _flat(theirs).any())
    return float(np.clip(_flat(ours) @ _flat(theirs) / norms, -1.0, 1.0))


def token_agreement(ours: AnyArray, theirs: AnyArray) -> float:
    """Share of tokens that are equal, position by position; 0 if the shapes differ."""
    return float(np.mean(ours == theirs)) if ours.shape == theirs.shape else 0.0


def _max_abs(ours: AnyArray, theirs: AnyArray) -> float:
    return float(np.max(np.abs(_flat(ours) - _flat(theirs)), initial=0.0))


def _flat(values: AnyArray) -> npt.NDArray[np.float64]:
    return values.astype(np.float64).ravel()


def _objection(measures: Mapping[str, Any], precision: Precision) -> str | None:
    """The reason why the outputs are not correct; NaN always is one."""
    tolerance, difference = measures["tolerance"], measures["difference_relative"]
    if not difference <= tolerance:
        return (
            f"the outputs differ from the fp32 reference by {difference:.2g}, "
            f"{precision} is allowed {tolerance:g}"
        )
    share, least = measures["token_agreement"], LEAST_TOKEN_AGREEMENT.get(precision, 0.0)
    if share is not None and share < least:
        return (
            f"{share:.0%} of the generated tokens equal the reference's, at least {least:.0%} must"
        )
    return None
