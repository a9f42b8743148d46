"""Agreement of outputs with the fp32 reference: four differences, each with its tolerance.

A reference holds, beside the fp32 outputs, how much each output of the same model differs when
torch computes it on the CPU in each other precision. Another implementation rounds in other places,
so it is allowed three times as much, or what was measured of other implementations (`CLOSE`): as a
whole, at the worst position, in the mean of positions and in what all values share. Where nothing
was computed, since the model is large or torch has no such arithmetic, the worst of the catalogue
stands in, by the study `honest_arithmetic` (docs/studies.md). Some arithmetic is coarser than
torch's of the same name, by ratios that the same study measured.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.reasons import Reason, ReasonCode, reason, reason_columns
from runner.contract.record.record import Columns
from runner.correctness.differences import (
    AnyArray,
    Arrays,
    Difference,
    Measured,
    measure_outputs,
    output_name,
    token_agreement,
    worst_difference,
)
from runner.correctness.honest import with_few

MARGIN = 3.0  # times that honest arithmetic may differ by more in another implementation
CLOSE: Mapping[Precision, Difference] = {"bf16": Difference(1.75, 2.5, 2.0, 3.0)}
"""The same where torch or OpenVINO compute on a processor, whose bf16 was measured over the set
`micro`: up to 1.2, 1.7 and 1.6 times as much, and 8-bit weights from 1.3, 1.3 and 1.9 times on."""
MEASURED_MARGIN = 2.0
"""Times that an arithmetic of `METHODS` may differ by more than was measured of it."""
MOST = 0.9
"""The most that outputs may differ by as a whole: those that are all zero differ by 1, those of
another model by 1.4."""
TOLD = 0.6
"""The most by which they may differ and be called right: torch's own int8 of the deepest models is
allowed no more. Above, rounding and a broken model cannot be told apart."""

FLOORS: Mapping[Precision, Difference] = {
    "fp32": Difference(1e-5, 3e-5, 1e-5, 1e-5),
    "fp16": Difference(1e-3, 2e-3, 5e-4, 5e-4),
    "bf16": Difference(4e-3, 16e-3, 2e-3, 4e-3),
    "int8": Difference(16e-3, 32e-3, 8e-3, 8e-3),
}
"""The least that is allowed: two units in the last place of 11 bits, one of 8 bits, two steps of
1/127; half of it in the mean; at the worst position twice, in bf16 four times of it, since one
logit may be that large; in what values share a fifth more than honest outputs of many values have
at most. In fp32 the order of sums and the functions that runtimes approximate differ by up to half
of it."""

HONEST: Mapping[Precision, Difference] = {
    "fp32": Difference(0.0, 0.0, 0.0, 0.0),
    "fp16": Difference(0.0045, 0.0065, 0.0012, 0.0005),
    "bf16": Difference(0.026, 0.033, 0.0066, 0.003),
    "int8": Difference(0.2, 0.26, 0.044, 0.02),
}
"""The worst of the catalogue, for models whose reference holds nothing for a precision. Deep ones
differ most: text models of 22 to 28 layers are among them."""

_AS_TORCH = Difference(1.0, 1.0, 1.0, 1.0)
_ON_PROCESSORS = ("cpu", "openvino")
UNMEASURED = "unmeasured"  # arithmetic as torch's, of a device on which nobody measured it
HTP = "HTP"  # the arithmetic of Qualcomm's HTP in fp16, where torch's stands for that of all others

METHODS: Mapping[Precision, Mapping[str, Difference]] = {
    "bf16": {UNMEASURED: _AS_TORCH},
    "fp16": {HTP: Difference(2.6, 3.2, 2.8, 3.2), UNMEASURED: _AS_TORCH},
    "int8": {
        r"torch\.ao dynamic": _AS_TORCH,
        r"torch\._int_mm dynamic": _AS_TORCH,
        r"dynamic, ": Difference(1.1, 1.0, 1.7, 1.7),
        r"QDQ: ": Difference(3.8, 5.2, 3.9, 3.9),
        r"NNCF .*post-training": Difference(3.8, 5.2, 3.9, 3.9),
        r"NNCF .*weights alone": Difference(1.0, 1.0, 1.2, 1.2),
    },
}
"""Differences of other arithmetic by torch's on the CPU, by kind: the worst of models, rounded up.
In int8 by the beginning of the method's name in `quantization`; QDQ's are NNCF's, as the HTP's
simulator takes minutes for a model. The HTP rounds each step of a norm to fp16 (decision 0012),
torch its result alone."""


_DIFFERS: Mapping[str, ReasonCode] = {
    "relative": "outputs_differ",
    "row": "outputs_differ_at_worst",
    "mean": "outputs_differ_in_mean",
    "shared": "outputs_differ_alike",
}


def method_of(cell: Cell, observed: Columns) -> str | None:
    """The name of the arithmetic that computes a cell, for `METHODS`; None if it is torch's."""
    elsewhere = HTP if cell.backend == "qnn" else UNMEASURED
    return observed.get("quantization") or (None if cell.backend in _ON_PROCESSORS else elsewhere)


def tolerance_of(
    precision: Precision, honest: Difference | None = None, method: str | None = None
) -> Difference:
    """The differences that one output is allowed; `method` is the name of the arithmetic."""
    own = HONEST[precision] if honest is None else honest
    is_close = honest is not None and method is None and precision in CLOSE
    margins = CLOSE[precision] if is_close else Difference(*[MARGIN] * len(own))
    coarser = (
        MEASURED_MARGIN * one if one > 1 else 0.0 for one in method_ratios(precision, method)
    )
    kinds = zip(FLOORS[precision], own, margins, coarser, strict=True)
    allowed = Difference(
        *(max(floor, value * max(margin, more)) for floor, value, margin, more in kinds)
    )
    return allowed._replace(relative=min(allowed.relative, MOST))


def method_ratios(precision: Precision, method: str | None) -> Difference:
    """The ratios of `METHODS`; 1 without a method, the largest if it is none of them."""
    listed = METHODS.get(precision)
    if method is None or listed is None:
        return _AS_TORCH
    known = (ratios for pattern, ratios in listed.items() if re.match(pattern, method))
    return next(known, worst_difference(listed.values()))


def compare_outputs(
    outputs: Arrays,
    reference: Arrays,
    tokens: tuple[AnyArray, AnyArray] | None,
    precision: Precision,
    honest: Mapping[str, Difference] | None = None,
    method: str | None = None,
) -> dict[str, Any]:
    """The columns about the agreement of outputs and tokens with the reference; the worst counts.

    Outputs of other names or shapes than the reference's are wrong, whatever they hold. The
    agreement of tokens, ours and the reference's, decides nothing. `honest` has, by output, the
    differences of the precision's own arithmetic, else the catalogue's count; `method` is a name of
    `METHODS`.
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
    if not honest:
        worst, method = HONEST[precision], method or (UNMEASURED if precision in CLOSE else None)
        honest = with_few({output_name(name): worst for name in outputs}, worst, outputs)
    return {
        name: tolerance_of(precision, honest.get(output_name(name)), method) for name in outputs
    }


class _Nearest(NamedTuple):
    share: float  # the difference by its tolerance
    output: str
    kind: str


def judge_outputs(
    outputs: Arrays, reference: Arrays, allowed: Mapping[str, Difference], precision: Precision
) -> dict[str, Any]:
    """The same columns, without the tokens', by tolerances that are given for each output."""
    shapes, expected = (
        {name: list(array.shape) for name, array in sorted(arrays.items())}
        for arrays in (outputs, reference)
    )
    if shapes != expected:
        explanation = reason("shapes_differ", outputs=shapes, reference=expected)
        return {"correct": False, **reason_columns("correct", explanation)}
    measured = measure_outputs(outputs, reference)
    nearest = max(
        _Nearest(math.inf if math.isnan(value) else value / most, name, kind)
        for name, one in measured.items()
        for kind, value, most in zip(Difference._fields, one.difference, allowed[name], strict=True)
    )
    difference, tolerance = measured[nearest.output].difference, allowed[nearest.output]
    correct, objection = _verdict(nearest, measured, tolerance, precision)
    return {
        # By numpy, since Python's max and min step over NaN.
        "difference_max_abs": float(np.max([one.max_abs for one in measured.values()])),
        "difference_relative": difference.relative,
        "difference_row": difference.row,
        "difference_mean": difference.mean,
        "difference_shared": difference.shared,
        "cosine_similarity": float(np.min([one.cosine for one in measured.values()])),
        "tolerance": tolerance.relative,
        "tolerance_row": tolerance.row,
        "tolerance_mean": tolerance.mean,
        "tolerance_shared": tolerance.shared,
        "tolerance_share": nearest.share,
        "difference_where": f"{nearest.kind} of {nearest.output}",
        "correct": correct,
        **reason_columns("correct", objection),
    }


def _verdict(
    nearest: _Nearest, measured: Mapping[str, Measured], tolerance: Difference, precision: Precision
) -> tuple[bool | None, Reason | None]:
    """True, False or None where nothing can tell, with the reason why it is not True."""
    if nearest.share > 1:
        return False, reason(
            _DIFFERS[nearest.kind],
            difference=getattr(measured[nearest.output].difference, nearest.kind),
            output=nearest.output,
            precision=precision,
            allowed=getattr(tolerance, nearest.kind),
        )
    farthest, name = max((one.difference.relative, name) for name, one in measured.items())
    if farthest > TOLD:
        facts = {"difference": farthest, "output": name, "precision": precision}
        return None, reason("maybe_rounding", **facts)
    return True, None
