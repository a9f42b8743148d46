"""Each runtime's kernels multiply and copy, in its own precision."""

from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.onnxruntime.device import OnnxDevice, cpu_device
from runner.backends.onnxruntime.peaks import onnx_peaks
from runner.backends.openvino.compile import Compiler
from runner.backends.openvino.device import find_openvino_device
from runner.backends.openvino.peaks import openvino_peaks
from runner.backends.peaks import PeakKernels, random_matrix
from runner.backends.torch.peaks import TorchPeaks

SIZE = 128


def test_a_matrix_is_of_normal_numbers_whose_rows_repeat() -> None:
    matrix = random_matrix(SIZE, np.float32)
    assert matrix.shape == (SIZE, SIZE)
    assert np.array_equal(matrix[:64], matrix[64:])
    assert matrix.std() == pytest.approx(1, abs=0.05)


def test_onnx_runtime_multiplies_and_negates() -> None:
    kernels = onnx_peaks(cpu_device(), "fp32", 1)
    assert kernels is not None
    assert kernels.product
    assert kernels.copy
    multiply, negate = kernels.product(SIZE), kernels.copy(4 * SIZE)
    left, right, product = (value.numpy() for value in _values(multiply))
    assert np.allclose(product, left @ right, atol=1e-3)
    source, negative = (value.numpy() for value in _values(negate))
    assert np.array_equal(negative, -source)
    assert source.shape == (SIZE,)


def test_openvino_multiplies_and_negates() -> None:
    import openvino as ov

    core = ov.Core()
    compiler = Compiler(core, find_openvino_device(core, "CPU"), "fp32", 1)
    kernels = openvino_peaks(compiler, "CPU", "fp32")
    assert kernels.product
    assert kernels.copy
    multiply, negate = kernels.product(SIZE), kernels.copy(4 * SIZE)
    matrix, product = (tensor.data for tensor in _values(multiply))
    assert np.allclose(product, matrix @ matrix, atol=1e-3)
    source, negative = (tensor.data for tensor in _values(negate))
    assert np.array_equal(negative, -source)
    assert openvino_peaks(compiler, "GPU.0", "fp32") == PeakKernels()
    assert openvino_peaks(compiler, "CPU", "int8").product is None


@pytest.mark.parametrize("quantised", [False, True])
def test_torch_multiplies_unless_its_layers_are_quantised(quantised: bool) -> None:
    waits: list[None] = []
    maker = TorchPeaks(torch.device("cpu"), torch.bfloat16, lambda: waits.append(None))
    before = torch.get_rng_state()
    kernels = maker.kernels(quantised=quantised)
    assert (kernels.product is None) == quantised
    for kernel in (maker.product(SIZE), maker.copy(4 * SIZE)):
        kernel()
    assert len(waits) == 2
    assert torch.equal(torch.get_rng_state(), before)


def test_a_simulator_has_none_and_a_compiler_no_kernels() -> None:
    simulator = OnnxDevice("qnn", "simulator", "QNN", is_simulated=True, compiles=True)
    assert onnx_peaks(simulator, "fp16", 1) is None
    assert onnx_peaks(OnnxDevice("qnn", "HTP", "QNN", compiles=True), "fp16", 1) == PeakKernels()


def _values(kernel: Any) -> list[Any]:
    values: list[Any] = kernel()
    return values
