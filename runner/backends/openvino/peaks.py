"""OpenVINO's own product of matrices and its negation, as models of one operator."""

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as operators

from runner.backends.openvino.compile import Compiler
from runner.backends.openvino.device import base_name
from runner.backends.peaks import Kernel, PeakKernels, arena, random_matrix
from runner.contract.cell import Precision


def openvino_peaks(compiler: Compiler, device: str, precision: Precision) -> PeakKernels:
    """The kernels on the CPU; on other devices each call would copy as well."""
    if base_name(device) != "CPU":
        return PeakKernels()
    maker = _OpenVINOPeaks(compiler)
    return PeakKernels(
        method="OpenVINO's MatMul by a constant, and Negative",
        product=None if precision == "int8" else maker.product,
        copy=maker.copy,
    )


class _OpenVINOPeaks:
    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def product(self, size: int) -> Kernel:
        """The product of an input and a constant, as a layer has it, in the session's precision."""
        matrix = random_matrix(size, np.float32)
        value = operators.parameter([size, size], np.float32, name="x")
        by_constant = operators.matmul(value, operators.constant(matrix), False, False)
        return self._kernel(value, by_constant, matrix)

    def copy(self, size: int) -> Kernel:
        """The negation of an array: it reads and writes as a copy does, with all threads."""
        source = arena(size // np.dtype(np.float32).itemsize, np.float32)
        source.fill(1)
        value = operators.parameter(list(source.shape), np.float32, name="x")
        return self._kernel(value, operators.negative(value), source)

    def _kernel(self, value: Any, computed: Any, source: np.ndarray[Any, Any]) -> Kernel:
        model = ov.Model([operators.result(computed)], [value], "peak")
        request = self._compiler.compile(model).create_infer_request()
        result = arena(source.size, np.float32).reshape(source.shape)
        tensors = [ov.Tensor(array, shared_memory=True) for array in (source, result)]
        request.set_input_tensor(0, tensors[0])
        request.set_output_tensor(0, tensors[1])

        def execute() -> object:
            request.infer(share_outputs=True)
            return tensors  # held here, since the request knows their memory alone

        return execute
