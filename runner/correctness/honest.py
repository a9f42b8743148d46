"""Honest differences: what other precisions differ by when torch computes them on the CPU."""

from collections.abc import Callable, Mapping

import numpy as np

from runner.backends.base import failure_reason
from runner.contract.cell import Precision
from runner.contract.errors import Unavailable, Unsupported
from runner.correctness.differences import (
    AnyArray,
    Arrays,
    Difference,
    differences_by_output,
    output_name,
    worst_difference,
)

PRECISIONS: tuple[Precision, ...] = ("bf16", "fp16", "int8")
"""Those that a reference tells of, beside fp32."""
_DIFFERENCE = "honest_difference."
"""The beginning of names that go on with a precision and an output."""
_FAILURE = "honest_failure."
"""The beginning of names that go on with a precision, and hold the reason why there is none."""
_FEWEST_VALUES = 128
"""Below, an output's own difference is chance, and the worst of all outputs stands for it."""
_EXPECTED = (Unsupported, Unavailable, RuntimeError, MemoryError)
"""Errors by which torch has no such arithmetic for the model: no kernel (`RuntimeError`, with
`NotImplementedError` among them), no layer to quantise, or too little memory. Any other is a fault
of ours or of the model, and ends the reference with its reason."""


def honest_arrays(reference: Arrays, compute: Callable[[Precision], Arrays]) -> dict[str, AnyArray]:
    """The differences of every precision that `compute` gives outputs of, and others' reasons."""
    arrays: dict[str, AnyArray] = {}
    for precision in PRECISIONS:
        try:
            honest = honest_by_output(compute(precision), reference)
        except _EXPECTED as error:
            arrays[f"{_FAILURE}{precision}"] = np.array(failure_reason(error))
        else:
            arrays |= {
                f"{_DIFFERENCE}{precision}.{name}": np.array(one) for name, one in honest.items()
            }
    return arrays


def honest_by_output(outputs: Arrays, reference: Arrays) -> dict[str, Difference]:
    """By output, its own differences, or the worst of all where it has few values.

    Raises:
        Unsupported: they are not finite.
    """
    own = differences_by_output(outputs, reference)
    worst = worst_difference(own.values())
    if not np.isfinite(worst).all():
        raise Unsupported("its outputs hold NaN or infinity")
    sizes = dict.fromkeys(own, 0)
    for name, array in reference.items():
        sizes[output_name(name)] += array.size
    return {name: worst if sizes[name] < _FEWEST_VALUES else one for name, one in own.items()}


def take_honest(
    reference: dict[str, AnyArray], precision: Precision
) -> tuple[Mapping[str, Difference], str | None]:
    """Remove what a reference holds beside outputs; this precision's differences, or the reason.

    Differences are by output, and empty if the reference holds none of this precision.
    """
    names = [name for name in reference if name.startswith((_DIFFERENCE, _FAILURE))]
    taken = {name: reference.pop(name) for name in names}
    start = f"{_DIFFERENCE}{precision}."
    honest = {
        name.removeprefix(start): Difference(*map(float, array))
        for name, array in taken.items()
        if name.startswith(start)
    }
    failure = taken.get(f"{_FAILURE}{precision}")
    return honest, None if failure is None else str(failure)
