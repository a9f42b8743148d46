"""Tolerances from honest arithmetic: three times what a precision's own rounding differs by.

A reference holds, beside the fp32 outputs, how much each output of the same model differs when
torch computes it on the CPU in each other precision. Another implementation rounds in other places,
so it is allowed three times as much. Where nothing was computed, since the model is large or torch
has no such arithmetic, the worst of the catalogue stands in: `python -m performance
honest_arithmetic` prints it.
"""

import re
from collections.abc import Mapping

from runner.contract.cell import Precision
from runner.correctness.differences import Difference

MARGIN = 3.0
"""Times that honest arithmetic may differ by more in another implementation."""

FLOORS: Mapping[Precision, Difference] = {
    "fp32": Difference(1e-5, 3e-5, 1e-5),
    "fp16": Difference(1e-3, 2e-3, 5e-4),
    "bf16": Difference(8e-3, 16e-3, 4e-3),
    "int8": Difference(16e-3, 32e-3, 8e-3),
}
"""The least that is allowed: two units in the last place of 11 and 8 bits, two steps of 1/127; half
of it in the mean, twice of it at the worst position. In fp32 the order of sums and the functions
that runtimes approximate differ by up to a third of it."""

HONEST: Mapping[Precision, Difference] = {
    "fp32": Difference(0.0, 0.0, 0.0),
    "fp16": Difference(0.0028, 0.0033, 0.0026),
    "bf16": Difference(0.038, 0.052, 0.03),
    "int8": Difference(0.076, 0.17, 0.02),
}
"""The worst of the catalogue, for models whose reference holds nothing for a precision."""

METHODS: Mapping[str, float] = {
    r"torch\.ao dynamic": 1.0,
    r"torch\._int_mm dynamic": 1.0,
    r"dynamic, ": 1.0,
    r"QDQ: ": 2.5,
    r"NNCF .*post-training": 2.5,
    r"NNCF .*weights alone": 1.0,
}
"""Differences of ways to int8 by those of torch.ao's dynamic one, by the beginning of their names
in `quantization`: the worst of models, rounded up; that of QDQ is NNCF's, as the HTP's simulator
takes minutes for a model."""
_UNKNOWN = max(METHODS.values())


def tolerance_of(
    precision: Precision, honest: Difference | None = None, method: str | None = None
) -> Difference:
    """The differences that one output is allowed; `method` is the origin of int8 numbers."""
    own = HONEST[precision] if honest is None else honest
    margin = MARGIN * (method_factor(method) if precision == "int8" else 1.0)
    pairs = zip(FLOORS[precision], own, strict=True)
    return Difference(*(max(floor, margin * difference) for floor, difference in pairs))


def method_factor(method: str | None) -> float:
    """The factor of `METHODS`; 1 if the method is not told, the largest if it is none of them."""
    if method is None:
        return 1.0
    known = (factor for pattern, factor in METHODS.items() if re.match(pattern, method))
    return next(known, _UNKNOWN)
