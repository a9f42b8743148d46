"""How far outputs agree with reference outputs, and how far each precision must."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.contract.cell import Precision

AnyArray = npt.NDArray[np.generic]

TOLERANCES: Mapping[Precision, float] = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2, "int8": 3e-1}
"""Relative difference that is allowed. A format of p bits of precision rounds each operation by
2^-p (fp32 24, fp16 11, bf16 8); the allowance leaves room for the sums of a deep model."""

LEAST_AGREEMENT: Mapping[Precision, float] = {"fp32": 0.9}
"""Share of greedy tokens that must agree. Other precisions may flip near ties, after which all
further tokens differ, so there the agreement is told but does not decide."""


def compare(
    outputs: Mapping[str, AnyArray],
    reference: Mapping[str, AnyArray],
    tokens: tuple[AnyArray, AnyArray] | None,
    precision: Precision,
) -> dict[str, Any]:
    """How far outputs and tokens agree with the reference's; the worst output counts.

    Outputs of other names or shapes than the reference's are wrong, whatever they hold.
    """
    if shapes(outputs) != shapes(reference):
        told = f"outputs {shapes(outputs)}, reference {shapes(reference)}"
        return {"correct": False, "correct_reason": f"names or shapes differ: {told}"}
    pairs = [(outputs[name], reference[name]) for name in sorted(reference)]
    # By numpy, since Python's max and min step over NaN.
    found = {
        "difference_max_abs": float(np.max([_max_abs(*pair) for pair in pairs])),
        "difference_relative": float(np.max([relative(*pair) for pair in pairs])),
        "cosine_similarity": float(np.min([cosine(*pair) for pair in pairs])),
        "token_agreement": None if tokens is None else agreement(*tokens),
        "tolerance": TOLERANCES[precision],
    }
    reason = _objection(found, precision)
    return {**found, "correct": reason is None, "correct_reason": reason}


def shapes(arrays: Mapping[str, AnyArray]) -> dict[str, list[int]]:
    """The shape of each array, by name."""
    return {name: list(array.shape) for name, array in sorted(arrays.items())}


def relative(ours: AnyArray, theirs: AnyArray) -> float:
    """Euclidean norm of the difference by that of the reference; 0 if both are 0."""
    difference = np.linalg.norm(_flat(ours) - _flat(theirs))
    norm = np.linalg.norm(_flat(theirs))
    if norm == 0:
        return 0.0 if difference == 0 else float("inf")
    return float(difference / norm)


def cosine(ours: AnyArray, theirs: AnyArray) -> float:
    """Cosine of the angle between the two as vectors; 1 if both are 0, 0 if one is."""
    norms = np.linalg.norm(_flat(ours)) * np.linalg.norm(_flat(theirs))
    if norms == 0:
        return float(not _flat(ours).any() and not _flat(theirs).any())
    return float(np.clip(_flat(ours) @ _flat(theirs) / norms, -1.0, 1.0))


def agreement(ours: AnyArray, theirs: AnyArray) -> float:
    """Share of tokens that are equal, place by place; 0 if the shapes differ."""
    return float(np.mean(ours == theirs)) if ours.shape == theirs.shape else 0.0


def _max_abs(ours: AnyArray, theirs: AnyArray) -> float:
    return float(np.max(np.abs(_flat(ours) - _flat(theirs)), initial=0.0))


def _flat(values: AnyArray) -> npt.NDArray[np.float64]:
    return values.astype(np.float64).ravel()


def _objection(found: Mapping[str, Any], precision: Precision) -> str | None:
    """Why the outputs do not count as correct; written so that NaN never does."""
    tolerance, difference = found["tolerance"], found["difference_relative"]
    if not difference <= tolerance:
        return (
            f"the outputs differ from the fp32 reference by {difference:.2g}, "
            f"{precision} is allowed {tolerance:g}"
        )
    share, least = found["token_agreement"], LEAST_AGREEMENT.get(precision, 0.0)
    if share is not None and share < least:
        return (
            f"{share:.0%} of the generated tokens equal the reference's, at least {least:.0%} must"
        )
    return None
