"""One training step against the fp32 reference: loss, gradients and updates of each parameter.

The reference holds a sketch of each gradient and evenly spaced elements of each update. As for
outputs, three times what honest arithmetic differs by is allowed, parameter by parameter. Where
bf16 itself decides a gradient's direction, its norm is still compared; where rounding alone makes
the gradient, as that of a key's bias, which softmax cancels, nothing is.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from runner.backends.base import Rehearsal
from runner.contract.cell import Cell
from runner.contract.reasons import reason, reason_columns
from runner.correctness.compare_outputs import MARGIN
from runner.correctness.differences import AnyArray, Arrays, relative_difference

_GRADIENT, _UPDATE, _LOSS = "gradient.", "update.", "training_loss"
"""Beginnings of names that go on with a parameter, and the name of the step's loss."""
_KINDS: tuple[Literal["gradient", "update"], ...] = ("gradient", "update")
_HONEST = "honest_step."  # the beginning of names that go on with a training precision
_NEGLIGIBLE = 1e-6
"""Norm of a gradient by that of all, below which rounding alone makes it: those of keys' biases
have 1e-9, the least of others 1e-5."""
_MOST = 0.9  # a tolerance above would let a gradient pass that is 0
_VANISHED = 0.999

_FLOORS: Mapping[str, Mapping[str, float]] = {
    "fp32": {"gradient": 1e-4, "update": 0.05, "loss": 1e-4},
    "fp16": {"gradient": 5e-3, "update": 0.05, "loss": 3e-3},
    "bf16": {"gradient": 4e-2, "update": 0.05, "loss": 2e-2},
}
"""The least that is allowed, by precision and kind; a first update of Adam's is the learning rate
with the gradient's sign, so that it is coarser than the gradient."""
_SHARES: Mapping[str, Mapping[str, float]] = {
    "fp32": {"gradient": 2**-10, "update": 1.0, "loss": 2**-10},
    "fp16": {"gradient": 1 / 2, "update": 1.0, "loss": 1 / 4},
    "bf16": {"gradient": 1.0, "update": 1.0, "loss": 1.0},
}
"""Honest differences by those of bf16 under autocast: fp16 rounds 8 times, fp32 65,536 times as
finely. Measured are a third and a thousandth, and as much as bf16's where a ReLU turns on or off,
which three times a half allow; signs of updates turn by chance. Many CPUs take seconds for a step
in fp16."""
_TURNED = 4
"""Elements near 0 whose update may have the other sign, each by twice the largest element."""
_CATALOGUE: Mapping[str, float] = {"gradient": 0.05, "update": 0.2, "loss": 3e-3}
"""Honest differences in bf16 for models whose reference holds none."""


class StepDifference(NamedTuple):
    """One difference of a step, by the reference's own size."""

    where: str  # e.g. `gradient of decoder.weight`, `norm of the update of …`
    kind: Literal["gradient", "update", "loss"]
    value: float
    largest: float = 1.0  # the reference's largest element by its norm
    is_norm: bool = False  # True for the difference of norms alone
    shorter: bool = False


def step_arrays(step: Rehearsal) -> dict[str, AnyArray]:
    return {
        _LOSS: np.array(step.loss),
        **{f"{_GRADIENT}{name}": array for name, array in step.gradients.items()},
        **{f"{_UPDATE}{name}": array.astype(np.float32) for name, array in step.updates.items()},
    }


def take_step(reference: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Remove the step's arrays from a reference, and return them."""
    starts = (_GRADIENT, _UPDATE, _LOSS, _HONEST)
    return {name: reference.pop(name) for name in [*reference] if name.startswith(starts)}


def honest_step(reference: Arrays, step: Arrays, precision: str) -> dict[str, AnyArray]:
    """The differences of honest arithmetic in `mixed` or `pure` bf16, for the reference to keep."""
    values = [difference.value for difference in step_differences(step, reference)]
    return {f"{_HONEST}{precision}": np.array(values, np.float32)}


def compare_step(cell: Cell, ours: Arrays, reference: Arrays) -> dict[str, Any]:
    """The columns about one training step; the difference farthest beyond its tolerance counts."""
    if not any(name.startswith(_GRADIENT) for name in ours):
        return {"correct": False, **reason_columns("correct", reason("no_optimizer_step"))}
    differences = list(step_differences(ours, reference))
    honest = reference.get(f"{_HONEST}{'pure' if cell.pure else 'mixed'}")
    allowed = _tolerances(cell, differences, None if honest is None else honest.tolist())
    shares = [one.value / most for one, most in zip(differences, allowed, strict=True)]
    worst = int(np.argmax(shares))
    compared = {
        one.where
        for one, most in zip(differences, allowed, strict=True)
        if one.kind == "gradient" and not one.is_norm and math.isfinite(most)
    }
    columns = {
        "gradients_compared": len(compared),
        "gradient_difference": differences[worst].value,
        "gradient_tolerance": allowed[worst],
        "gradient_where": differences[worst].where,
    }
    explanation = None
    if shares[worst] > 1:
        explanation = reason(
            "step_differs",
            where=differences[worst].where,
            difference=differences[worst].value,
            precision=cell.precision,
            allowed=allowed[worst],
        )
    return {**columns, "correct": explanation is None, **reason_columns("correct", explanation)}


def step_differences(ours: Arrays, reference: Arrays) -> Iterator[StepDifference]:
    """Every difference, in an order that the reference decides; an array's norm follows it."""
    loss = relative_difference(ours[_LOSS], reference[_LOSS])
    yield StepDifference("loss", "loss", _finite(loss))
    gradients = [name for name in sorted(reference) if name.startswith(_GRADIENT)]
    norms = {name: float(np.linalg.norm(reference[name])) for name in gradients}
    whole = float(np.linalg.norm(list(norms.values())))
    for name in gradients:
        if norms[name] <= _NEGLIGIBLE * whole:
            continue
        parameter = name.removeprefix(_GRADIENT)
        for kind in _KINDS:
            array = f"{kind}.{parameter}"
            yield from _of_array(kind, parameter, ours.get(array), reference[array])


def _of_array(
    kind: Literal["gradient", "update"], parameter: str, ours: AnyArray | None, theirs: AnyArray
) -> Iterator[StepDifference]:
    own = np.zeros_like(theirs) if ours is None or ours.shape != theirs.shape else ours
    whole = _finite(relative_difference(own, theirs))
    norms = float(np.linalg.norm(own)), float(np.linalg.norm(theirs))
    largest = float(np.abs(theirs).max()) / norms[1] if norms[1] else 1.0
    yield StepDifference(f"{kind} of {parameter}", kind, whole, largest)
    length = _finite(abs(norms[0] - norms[1]) / norms[1]) if norms[1] else 0.0
    where, shorter = f"norm of the {kind} of {parameter}", norms[0] < norms[1]
    yield StepDifference(where, kind, length, is_norm=True, shorter=shorter)


def _tolerances(
    cell: Cell, differences: Sequence[StepDifference], honest: Sequence[float] | None
) -> list[float]:
    """The most that each difference may be; infinite where rounding alone decides.

    A gradient that is compared needs no comparison of its norm, whose honest difference is small by
    chance. The norm of one that is not differs honestly by a third of the gradient's or more.
    """
    known = honest or [_CATALOGUE[difference.kind] for difference in differences]
    tolerances: list[float] = []
    for number, (difference, own) in enumerate(zip(differences, known, strict=True)):
        if not (difference.is_norm and difference.kind == "gradient"):
            tolerances.append(_allowed(cell, difference, own))
        elif math.isfinite(tolerances[-1]):
            tolerances.append(math.inf)
        else:
            tolerances.append(_allowed(cell, difference, max(own, known[number - 1] / MARGIN)))
    return tolerances


def _allowed(cell: Cell, difference: StepDifference, honest: float) -> float:
    own = honest * _SHARES[cell.precision][difference.kind]
    tolerance = max(_FLOORS[cell.precision][difference.kind], MARGIN * own)
    if difference.kind == "update" and not difference.is_norm:
        tolerance = max(tolerance, 2 * _TURNED**0.5 * difference.largest)
    if tolerance <= _MOST:
        return tolerance
    vanishes = difference.is_norm and difference.shorter and own < _VANISHED
    return _VANISHED if vanishes else math.inf


def _finite(value: float) -> float:
    """The value; a large one in the place of NaN and infinity."""
    return value if math.isfinite(value) else 1e9
