"""OpenVINO's own product of matrices and its negation, as models of one operator."""

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as operators

from runner.backends.openvino.device import Compiler, base_name, product_types
from runner.backends.peaks import (
    INTEGERS_PER_UNIT,
    Kernel,
    PeakKernels,
    arena,
    last_integer_rows,
    random_matrix,
)
from runner.contract.axes import Precision

_LEVELS, _LOWEST, _STEPS_PER_UNIT = 256, -112, 32
"""The grid of int8 inputs in steps of 1/32, not symmetric, as NNCF's preset mixed has it."""


def openvino_peaks(compiler: Compiler, device: str, precision: Precision) -> PeakKernels:
    """The kernels on the CPU; on other devices each call would copy as well."""
    if base_name(device) != "CPU":
        return PeakKernels()
    maker = _OpenVINOPeaks(compiler)
    threads = compiler.options.get("INFERENCE_NUM_THREADS", 1)
    quantised = precision == "int8"
    return PeakKernels(
        method=f"OpenVINO's MatMul by a{' quantised' * quantised} constant, and Negative",
        product=maker.int8_product if quantised else maker.product,
        last_rows=last_integer_rows(threads) if quantised else None,
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
        return self._kernel(self._compiled(value, by_constant), matrix)

    def int8_product(self, size: int) -> Kernel | None:
        """The product of inputs on a grid and int8 weights with a scale; None if not in int8."""
        value = operators.parameter([size, size], np.float32, name="x")
        bounds = (_LOWEST, _LOWEST + _LEVELS - 1)
        low, high = (operators.constant(np.float32(end / _STEPS_PER_UNIT)) for end in bounds)
        inputs = operators.fake_quantize(value, low, high, low, high, _LEVELS)
        weights = operators.convert(operators.constant(random_matrix(size, np.int8)), np.float32)
        scaled = operators.multiply(weights, operators.constant(np.float32(1 / INTEGERS_PER_UNIT)))
        compiled = self._compiled(value, operators.matmul(inputs, scaled, False, False))
        if not product_types([compiled])["int8"]:
            return None
        return self._kernel(compiled, random_matrix(size, np.float32))

    def copy(self, size: int) -> Kernel:
        """The negation of an array: it reads and writes as a copy does, with all threads."""
        source = arena(size // np.dtype(np.float32).itemsize, np.float32)
        source.fill(1)
        value = operators.parameter(list(source.shape), np.float32, name="x")
        return self._kernel(self._compiled(value, operators.negative(value)), source)

    def _compiled(self, value: Any, computed: Any) -> ov.CompiledModel:
        return self._compiler.compile(ov.Model([operators.result(computed)], [value], "peak"))

    def _kernel(self, compiled: ov.CompiledModel, source: np.ndarray[Any, Any]) -> Kernel:
        request = compiled.create_infer_request()
        result = arena(source.size, np.float32).reshape(source.shape)
        tensors = [ov.Tensor(array, shared_memory=True) for array in (source, result)]
        request.set_input_tensor(0, tensors[0])
        request.set_output_tensor(0, tensors[1])

        def execute() -> object:
            request.infer(share_outputs=True)
            return tensors  # held here, since the request knows their memory alone

        return execute
