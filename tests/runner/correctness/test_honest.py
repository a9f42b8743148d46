"""What other precisions differ by is kept by output, and what torch cannot do as a reason."""

from typing import Any

import numpy as np
import pytest

from runner.contract.axes import Precision
from runner.contract.errors import Unsupported
from runner.contract.reasons import parse_reason, reason
from runner.correctness.differences import Difference, worst_difference
from runner.correctness.honest import honest_arrays, honest_by_output, take_honest

LARGE = np.random.default_rng(0).standard_normal((2, 8, 64))
REFERENCE = {"hidden": LARGE, "second.hidden": LARGE + 1, "logits": np.ones((2, 2))}


def rounded(share: float) -> dict[str, Any]:
    return {name: array * (1 + share) for name, array in REFERENCE.items()}


def test_an_output_with_few_values_has_the_worst_of_all() -> None:
    outputs = {**REFERENCE, "second.hidden": REFERENCE["second.hidden"] * 1.01}
    honest = honest_by_output(outputs, REFERENCE)
    assert honest["hidden"].relative == pytest.approx(0.01)
    assert honest["logits"] == worst_difference(honest.values())
    assert honest["logits"][:2] == honest["hidden"][:2]


NO_LAYER = reason("int8_no_linear", kinds="none")


def test_each_precision_tells_its_differences_or_why_there_are_none() -> None:
    def compute(precision: Precision) -> dict[str, Any]:
        if precision == "int8":
            raise Unsupported(NO_LAYER)
        if precision == "fp16":
            raise NotImplementedError("\"conv\" not implemented for 'Half'")
        return rounded(0.01)

    arrays = {**REFERENCE, **honest_arrays(REFERENCE, compute)}
    assert take_honest(dict(arrays), "int8") == ({}, NO_LAYER)
    failed = take_honest(dict(arrays), "fp16")[1]
    assert failed is not None
    assert failed.facts["kind"] == "NotImplementedError"
    assert take_honest(dict(arrays), "fp32") == ({}, None)
    honest, failure = take_honest(arrays, "bf16")
    assert failure is None
    assert isinstance(honest["hidden"], Difference)
    assert honest["logits"].relative == pytest.approx(0.01)
    assert set(arrays) == set(REFERENCE)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("\"rms_norm\" not implemented for 'Half'"),
        RuntimeError("mat1 and mat2 must have the same dtype, but got Float and BFloat16"),
        RuntimeError("Didn't find engine for operation quantized::linear_prepack NoQEngine"),
        MemoryError("1 TB"),
    ],
)
def test_what_torch_cannot_do_is_a_reason(error: Exception) -> None:
    def compute(precision: Precision) -> dict[str, Any]:
        raise error

    (name, content), *others = honest_arrays(REFERENCE, compute, ["fp16"]).items()
    assert (name, others) == ("honest_failure.fp16", [])
    assert parse_reason(str(content)).facts["text"] == str(error)


@pytest.mark.parametrize(
    "error", [KeyError("int8"), RuntimeError("The size of tensor a (3) must match tensor b (4)")]
)
def test_a_fault_of_ours_is_not_taken_for_a_missing_kernel(error: Exception) -> None:
    def compute(precision: Precision) -> dict[str, Any]:
        raise error

    with pytest.raises(type(error)):
        honest_arrays(REFERENCE, compute)
