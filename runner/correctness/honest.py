"""Honest differences: what other precisions differ by when torch computes them on the CPU."""

import math
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from runner.contract.artifact_keys import HONEST_DIFFERENCE, HONEST_FAILURE
from runner.contract.axes import Precision
from runner.contract.errors import Unavailable, Unsupported, reason_of
from runner.contract.reasons import Reason, parse_reason, reason, write_reason
from runner.correctness.differences import (
    AnyArray,
    Arrays,
    Difference,
    as_rows,
    differences_by_output,
    output_name,
    worst_difference,
)

PRECISIONS: tuple[Precision, ...] = ("bf16", "fp16", "int8")
"""Those that a reference can tell of, beside fp32."""
_FEWEST_VALUES = 128
"""Below, an output's own difference is chance, and the worst of all outputs stands for it."""
_FEWEST_SHARING = 32
"""The same for what all values share: one number, which fewer values tell."""
_EXPECTED = (Unsupported, Unavailable, NotImplementedError, MemoryError)
"""Errors by which torch has no such arithmetic for the model: no kernel, no layer to quantise, or
too little memory."""
_LACKS = re.compile(
    r"not implemented|not supported|unsupported|could not create a primitive|NoQEngine"
    r"|didn't find engine|could not run '|same dtype|should be the same|scalar type"
    r"|can't allocate memory|not enough memory",
    re.IGNORECASE,
)
"""The words of torch's plain `RuntimeError`s that say the same: no kernel for this number format,
or operands of two. Any other error is a fault of ours or of the model, and ends the reference."""


def honest_arrays(
    reference: Arrays,
    compute: Callable[[Precision], Arrays],
    precisions: Iterable[Precision] = PRECISIONS,
) -> dict[str, AnyArray]:
    """By precision its differences, or the reason where torch has no such arithmetic."""
    arrays: dict[str, AnyArray] = {}
    for precision in precisions:
        try:
            honest = honest_by_output(compute(precision), reference)
        except Exception as error:
            if not is_lack(error):
                raise
            arrays[f"{HONEST_FAILURE}{precision}"] = np.array(write_reason(reason_of(error)))
        else:
            start = f"{HONEST_DIFFERENCE}{precision}."
            arrays |= {f"{start}{name}": np.array(one) for name, one in honest.items()}
    return arrays


def is_lack(error: Exception) -> bool:
    """True if the error says that torch has no such arithmetic for the model."""
    says_so = isinstance(error, RuntimeError) and _LACKS.search(str(error)) is not None
    return says_so or isinstance(error, _EXPECTED)


def honest_by_output(outputs: Arrays, reference: Arrays) -> dict[str, Difference]:
    """By output, its own differences, or the worst of all where it has few values."""
    own = differences_by_output(outputs, reference)
    worst = worst_difference(own.values())
    if not np.isfinite(worst).all():
        raise Unsupported(reason("outputs_not_finite"))
    return with_few(own, worst, reference)


def with_few(
    own: Mapping[str, Difference], worst: Difference, reference: Arrays
) -> dict[str, Difference]:
    """The differences; for outputs of few values the worst of all.

    Their mean, and what all values of an output share, are what its rows can have by chance:
    independent errors of n rows have a mean of 1/sqrt(n) of their size, and those of other outputs,
    which have more rows, average out further.
    """
    members: dict[str, list[AnyArray]] = {}
    for name, array in reference.items():
        members.setdefault(output_name(name), []).append(array)
    differences: dict[str, Difference] = {}
    for name, difference in own.items():
        size = sum(array.size for array in members[name])
        rows = max(1, sum(len(as_rows(array)) for array in members[name]))
        known, shares = difference, worst if size < _FEWEST_SHARING else difference
        shared = shares.relative / math.sqrt(rows)
        if size < _FEWEST_VALUES:
            known = worst._replace(mean=max(worst.mean, worst.relative / math.sqrt(rows)))
        else:
            shared /= 2
        differences[name] = known._replace(shared=max(shares.shared, shared))
    return differences


def take_honest(
    reference: dict[str, AnyArray], precision: Precision
) -> tuple[Mapping[str, Difference], Reason | None]:
    """Remove what a reference holds beside outputs; this precision's differences, or the reason."""
    names = [name for name in reference if name.startswith((HONEST_DIFFERENCE, HONEST_FAILURE))]
    taken = {name: reference.pop(name) for name in names}
    start = f"{HONEST_DIFFERENCE}{precision}."
    honest = {
        name.removeprefix(start): Difference(*map(float, array))
        for name, array in taken.items()
        if name.startswith(start)
    }
    failure = taken.get(f"{HONEST_FAILURE}{precision}")
    return honest, None if failure is None else parse_reason(str(failure))
