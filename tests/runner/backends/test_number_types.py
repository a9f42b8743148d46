"""The types of numbers, as runtimes call them."""

from collections.abc import Sequence

import pytest

from runner.backends.evidence import narrowest


@pytest.mark.parametrize(
    ("operands", "types"),
    [
        (["torch.bfloat16", "torch.bfloat16"], ["bf16"]),
        (["float", "float16"], ["fp16"]),
        (["f32"], ["fp32"]),
        (["float", "int8", "float", "uint8"], ["int8"]),
        (["float", "int64", "bool"], ["fp32"]),
        (["torch.float32", "torch.float8_e4m3fn"], ["float8_e4m3fn"]),
        (["double", "float"], ["fp32"]),
        (["int64"], []),
        ([], []),
    ],
)
def test_a_product_is_of_the_narrowest_type_of_its_operands(
    operands: Sequence[str], types: list[str]
) -> None:
    assert narrowest(operands) == types
