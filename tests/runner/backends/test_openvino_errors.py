"""What OpenVINO's errors mean."""

import openvino as ov
import pytest

from runner.backends.openvino_errors import is_out_of_memory, refusals
from runner.errors import Unsupported


def test_its_allocator_is_understood() -> None:
    with pytest.raises(RuntimeError) as caught:
        ov.Tensor(ov.Type.f32, [1 << 60])
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        "Failed to allocate 68719476736 bytes of memory",
        "[GPU] Exceeded max size of memory object allocation: requested 4831838208 bytes",
        "[GPU] out of GPU resources",
        "[GPU] CL_OUT_OF_RESOURCES exception.",
        "L0 zeMemAllocDevice result: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, code 0x70000003",
    ],
)
def test_the_plugins_are_understood(message: str) -> None:
    assert is_out_of_memory(RuntimeError(f"Exception from src/a.cpp:1:\n{message}\n"))
    assert not is_out_of_memory(ValueError(message))


@pytest.mark.parametrize(
    "message", ["Failed to allocate vector registers", "shape mismatch", "Cannot load library"]
)
def test_other_errors_are_not_taken_for_lack_of_memory(message: str) -> None:
    assert not is_out_of_memory(RuntimeError(message))


def test_a_refusal_is_told_in_one_line_without_places_in_a_source() -> None:
    told = "Exception from src/b/core.cpp:117:\nException from src/a.cpp:1:\nno,\nnot this\n\n"
    with (
        pytest.raises(Unsupported, match=r"^OpenVINO cannot read it: no, not this$"),
        refusals("read it"),
    ):
        raise RuntimeError(told)


def test_lack_of_memory_is_no_refusal() -> None:
    with pytest.raises(RuntimeError, match="bad_alloc"), refusals("read it"):
        raise RuntimeError("std::bad_alloc")
