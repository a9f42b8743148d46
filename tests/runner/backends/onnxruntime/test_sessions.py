"""Sessions are made where they were asked for, or not at all."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from runner.backends.onnxruntime.device import CPU, CUDA, OnnxDevice, cpu_device
from runner.backends.onnxruntime.sessions import (
    NO_FALLBACK,
    SPINNING,
    create_session,
    is_out_of_memory,
    recorded_options,
    session_options,
)
from runner.contract.errors import Unavailable, Unsupported
from tests.support.onnx_graphs import FLOAT, layer, model_of
from tests.support.words import raises_words

LAYER = layer().SerializeToString()
GPU = OnnxDevice("cuda", "a GPU", CUDA, memory="cuda")
says_so = pytest.mark.filterwarnings("ignore:Specified provider")


def lenient(fallback: bool) -> onnxruntime.SessionOptions:
    return session_options(1, fallback=fallback)


def test_every_option_that_decides_how_a_session_executes_is_recorded() -> None:
    device = cpu_device()
    session = create_session(LAYER, device, lambda fallback: session_options(2, fallback=fallback))
    recorded = recorded_options([session], device)
    assert recorded == {
        "providers": '{"CPUExecutionProvider": {}}',
        "intra_op_num_threads": "2",
        "inter_op_num_threads": "1",
        "execution_mode": "ORT_SEQUENTIAL",
        "graph_optimization_level": "ORT_ENABLE_ALL",
        "enable_cpu_mem_arena": "True",
        "enable_mem_pattern": "True",
        SPINNING: "1",
        NO_FALLBACK: "0",
        "thread_affinity": "none: the operating system places the threads",
        "io_binding": "inputs and outputs in memory of cpu:0",
    }


def test_sizes_fix_what_a_graph_leaves_open() -> None:
    options = session_options(1, sizes={"n": 3})
    session = create_session(LAYER, cpu_device(), lambda _: options)
    assert session.get_inputs()[0].shape == [3, 8]


@says_so
@pytest.mark.parametrize(("strict", "attempts"), [(False, [False]), (True, [False, True])])
def test_a_session_without_the_claimed_provider_is_none(strict: bool, attempts: list[bool]) -> None:
    """ONNX Runtime warns and takes the CPU; a second attempt alone may leave nodes to it."""
    requested: list[bool] = []

    def options(fallback: bool) -> onnxruntime.SessionOptions:
        requested.append(fallback)
        return session_options(1, fallback=fallback or not strict)

    with raises_words(Unavailable, match=f"a session without {CUDA}, only {CPU}"):
        create_session(LAYER, GPU, options)
    assert requested == attempts


def test_a_graph_without_kernels_is_unsupported_in_the_librarys_words() -> None:
    model = layer(kind=TensorProto.BFLOAT16).SerializeToString()
    with raises_words(Unsupported, match=r"no kernel.*implementation for MatMul\(13\)"):
        create_session(model, cpu_device(), lenient)


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="File doesn't exist") as caught:
        create_session(tmp_path / "missing.onnx", cpu_device(), lenient)
    assert not isinstance(caught.value, Unsupported)


def test_what_the_allocators_say_counts_as_lack_of_memory() -> None:
    value = helper.make_tensor_value_info
    shape = value("shape", TensorProto.INT64, (2,))
    zeros = helper.make_node("ConstantOfShape", ["shape"], ["y"])
    graph = helper.make_graph([zeros], "zeros", [shape], [value("y", FLOAT, ("a", "b"))])
    session = create_session(model_of(graph).SerializeToString(), cpu_device(), lenient)
    with pytest.raises(Exception, match="Failed to allocate memory") as caught:
        session.run(None, {"shape": np.array([1 << 20, 1 << 24])})
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(RuntimeError("Failed to allocate memory"))
