"""Tolerances from honest arithmetic: three times what a precision's own rounding differs by.

A reference holds, beside the fp32 outputs, how much each output of the same model differs when
torch computes it on the CPU in each other precision. Another implementation rounds in other places,
so it is allowed three times as much. Where nothing was computed, since the model is large or torch
has no such arithmetic, the worst of the catalogue stands in: `python -m performance
honest_arithmetic` prints it.

Some arithmetic is coarser than torch's of the same name, by ratios that the same script measures.
"""

import re
from collections.abc import Mapping

from runner.contract.cell import Cell, Precision
from runner.contract.record.record import Columns
from runner.correctness.differences import Difference, worst_difference

MARGIN = 3.0
"""Times that honest arithmetic may differ by more in another implementation."""
MEASURED_MARGIN = 2.0
"""Times that an arithmetic of `METHODS` may differ by more than was measured of it."""
MOST = 0.9
"""The most that outputs may differ by as a whole: those that are all zero differ by 1, those of
another model by 1.4."""
TOLD = 0.6
"""The most by which they may differ and be called right: torch's own int8 of the deepest models is
allowed no more. Above, rounding and a broken model cannot be told apart."""

FLOORS: Mapping[Precision, Difference] = {
    "fp32": Difference(1e-5, 3e-5, 1e-5),
    "fp16": Difference(1e-3, 2e-3, 5e-4),
    "bf16": Difference(8e-3, 16e-3, 4e-3),
    "int8": Difference(16e-3, 32e-3, 8e-3),
}
"""The least that is allowed: two units in the last place of 11 and 8 bits, two steps of 1/127; half
of it in the mean, twice of it at the worst position. In fp32 the order of sums and the functions
that runtimes approximate differ by up to half of it."""

HONEST: Mapping[Precision, Difference] = {
    "fp32": Difference(0.0, 0.0, 0.0),
    "fp16": Difference(0.0045, 0.0065, 0.0012),
    "bf16": Difference(0.026, 0.033, 0.0066),
    "int8": Difference(0.2, 0.26, 0.044),
}
"""The worst of the catalogue, for models whose reference holds nothing for a precision. Deep ones
differ most: text models of 22 to 28 layers are among them."""

_AS_TORCH = Difference(1.0, 1.0, 1.0)
HTP = "HTP"
"""The arithmetic of Qualcomm's HTP in fp16, where torch's stands for that of all others."""

METHODS: Mapping[Precision, Mapping[str, Difference]] = {
    "fp16": {HTP: Difference(2.6, 3.2, 2.8)},
    "int8": {
        r"torch\.ao dynamic": _AS_TORCH,
        r"torch\._int_mm dynamic": _AS_TORCH,
        r"dynamic, ": Difference(1.1, 1.0, 1.7),
        r"QDQ: ": Difference(3.8, 5.2, 3.9),
        r"NNCF .*post-training": Difference(3.8, 5.2, 3.9),
        r"NNCF .*weights alone": Difference(1.0, 1.0, 1.2),
    },
}
"""Differences of other arithmetic by torch's on the CPU, by kind: the worst of models, rounded up.
In int8 by the beginning of the method's name in `quantization`; QDQ's are NNCF's, as the HTP's
simulator takes minutes for a model. The HTP rounds each step of a norm to fp16 (decision 0012),
torch its result alone."""


def method_of(cell: Cell, observed: Columns) -> str | None:
    """The name of the arithmetic that computes a cell, for `METHODS`; None if it is torch's."""
    return observed.get("quantization") or (HTP if cell.backend == "qnn" else None)


def tolerance_of(
    precision: Precision, honest: Difference | None = None, method: str | None = None
) -> Difference:
    """The differences that one output is allowed; `method` is the name of the arithmetic."""
    own = HONEST[precision] if honest is None else honest
    kinds = zip(FLOORS[precision], own, method_ratios(precision, method), strict=True)
    allowed = Difference(
        *(max(floor, value * max(MARGIN, MEASURED_MARGIN * ratio)) for floor, value, ratio in kinds)
    )
    return allowed._replace(relative=min(allowed.relative, MOST))


def method_ratios(precision: Precision, method: str | None) -> Difference:
    """The ratios of `METHODS`; 1 if the method is not told, the largest if it is none of them."""
    listed = METHODS.get(precision)
    if method is None or listed is None:
        return _AS_TORCH
    known = (ratios for pattern, ratios in listed.items() if re.match(pattern, method))
    return next(known, worst_difference(listed.values()))
