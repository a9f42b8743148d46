"""Agreement of outputs with the fp32 reference: three differences, each with its tolerance.

What a broken part does wrong differs in kind from what rounding does. Rounding is spread over all
positions and averages out over them; a wrong kernel errs at some positions alone, or everywhere in
the same direction. So the difference is looked at as a whole, at the worst position, and in its
mean over positions, and each is allowed three times what honest arithmetic of the same precision
differs by (`runner.correctness.tolerance`).
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from runner.contract.cell import Precision
from runner.correctness.tolerance import Difference, tolerance_of

AnyArray = npt.NDArray[np.generic]


_ROWS_AND_FEATURES = 2
_PLACES = {"relative": "", "row": " at the worst position", "mean": " in the mean of positions"}
"""The words for each kind of difference in a reason."""


class Measured(NamedTuple):
    """The differences of one output."""

    difference: Difference
    max_abs: float
    cosine: float


def compare_outputs(
    outputs: Mapping[str, AnyArray],
    reference: Mapping[str, AnyArray],
    tokens: tuple[AnyArray, AnyArray] | None,
    precision: Precision,
    honest: Difference | None = None,
) -> dict[str, Any]:
    """The columns about the agreement of outputs and tokens; the worst output counts.

    Outputs of other names or shapes than the reference's are wrong, whatever they hold.

    Args:
        outputs: the arrays to be judged, by name.
        reference: those of the fp32 reference.
        tokens: generated tokens and the reference's; their agreement is told and decides nothing.
        precision: the precision that computed the outputs.
        honest: the differences of that precision's own arithmetic; None takes the catalogue's.
    """
    shapes, expected = array_shapes(outputs), array_shapes(reference)
    if shapes != expected:
        reason = f"names or shapes differ: outputs {shapes}, reference {expected}"
        return {"correct": False, "correct_reason": reason}
    measured = {name: _measure(outputs[name], reference[name]) for name in sorted(reference)}
    allowed = tolerance_of(precision, honest)
    name, kind, ratio = _worst(measured, allowed)
    difference = worst_difference(one.difference for one in measured.values())
    objection = None if ratio <= 1 else _objection(name, kind, measured, allowed, precision)
    return {
        # By numpy, since Python's max and min step over NaN.
        "difference_max_abs": float(np.max([one.max_abs for one in measured.values()])),
        "difference_relative": difference.relative,
        "difference_row": difference.row,
        "difference_mean": difference.mean,
        "cosine_similarity": float(np.min([one.cosine for one in measured.values()])),
        "token_agreement": None if tokens is None else token_agreement(*tokens),
        "tolerance": allowed.relative,
        "tolerance_row": allowed.row,
        "tolerance_mean": allowed.mean,
        "tolerance_share": ratio,
        "difference_where": f"{kind} of {name}",
        "correct": objection is None,
        "correct_reason": objection,
    }


def difference_of(outputs: Mapping[str, AnyArray], reference: Mapping[str, AnyArray]) -> Difference:
    """The worst differences of arrays that have the same names and shapes."""
    return worst_difference(
        _measure(outputs[name], reference[name]).difference for name in sorted(reference)
    )


def array_shapes(arrays: Mapping[str, AnyArray]) -> dict[str, list[int]]:
    """The shape of each array, by name."""
    return {name: list(array.shape) for name, array in sorted(arrays.items())}


def relative_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Euclidean norm of the difference by that of the reference; 0 if both are 0."""
    return _ratio(float(np.linalg.norm(_flat(ours) - _flat(theirs))), _norm(theirs))


def row_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Norm of the worst row's difference by the root mean square of all rows' norms.

    A row is the last dimension: the features of one position of one sample.
    """
    errors = np.linalg.norm(_rows(ours) - _rows(theirs), axis=1)
    return _ratio(float(np.max(errors, initial=0.0)), _row_size(theirs))


def mean_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Norm of a sample's mean difference by the root mean square of all rows' norms.

    The mean is that over a sample's rows; where each sample is one row, over all of them. The worst
    sample counts.
    """
    if not theirs.size:
        return 0.0
    samples = len(theirs) if theirs.ndim > _ROWS_AND_FEATURES else 1
    width = theirs.shape[-1] if theirs.ndim else 1
    difference = (_rows(ours) - _rows(theirs)).reshape(samples, -1, width)
    means = np.linalg.norm(difference.mean(axis=1), axis=1)
    return _ratio(float(np.max(means)), _row_size(theirs))


def cosine_similarity(ours: AnyArray, theirs: AnyArray) -> float:
    """Cosine of the angle between the two as vectors; 1 if both are 0, 0 if one is."""
    norms = _norm(ours) * _norm(theirs)
    if norms == 0:
        return float(not _flat(ours).any() and not _flat(theirs).any())
    return float(np.clip(_flat(ours) @ _flat(theirs) / norms, -1.0, 1.0))


def token_agreement(ours: AnyArray, theirs: AnyArray) -> float:
    """Share of tokens that are equal, position by position; 0 if the shapes differ."""
    return float(np.mean(ours == theirs)) if ours.shape == theirs.shape else 0.0


def worst_difference(differences: Iterable[Difference]) -> Difference:
    """The largest of each kind; NaN is larger than everything."""
    return Difference(*map(float, np.max(np.array(list(differences)), axis=0)))


def _measure(ours: AnyArray, theirs: AnyArray) -> Measured:
    return Measured(
        difference=Difference(
            relative_difference(ours, theirs),
            row_difference(ours, theirs),
            mean_difference(ours, theirs),
        ),
        max_abs=float(np.max(np.abs(_flat(ours) - _flat(theirs)), initial=0.0)),
        cosine=cosine_similarity(ours, theirs),
    )


def _worst(measured: Mapping[str, Measured], allowed: Difference) -> tuple[str, str, float]:
    """The output and the kind of difference nearest to its tolerance, or farthest beyond it."""
    shares = [
        (math.inf if math.isnan(value) else value / most, name, kind)
        for name, one in measured.items()
        for kind, value, most in zip(Difference._fields, one.difference, allowed, strict=True)
    ]
    share, name, kind = max(shares)
    return name, kind, share


def _objection(
    name: str, kind: str, measured: Mapping[str, Measured], allowed: Difference, precision: str
) -> str:
    difference = getattr(measured[name].difference, kind)
    return (
        f"the outputs differ from the fp32 reference by {difference:.2g}{_PLACES[kind]} ({name}), "
        f"{precision} is allowed {getattr(allowed, kind):.2g}"
    )


def _ratio(difference: float, size: float) -> float:
    if size == 0:
        return 0.0 if difference == 0 else float("inf")
    return difference / size


def _norm(values: AnyArray) -> float:
    return float(np.linalg.norm(_flat(values)))


def _row_size(values: AnyArray) -> float:
    rows = _rows(values)
    return float(_norm(values) / max(1, len(rows)) ** 0.5)


def _rows(values: AnyArray) -> npt.NDArray[np.float64]:
    numbers = values.astype(np.float64)
    return numbers.reshape(-1, values.shape[-1] if values.ndim else 1)


def _flat(values: AnyArray) -> npt.NDArray[np.float64]:
    return values.astype(np.float64).ravel()
