"""ONNX Runtime's product and negation, as graphs written byte by byte: few images have `onnx`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnxruntime import OrtValue

from runner.backends.onnxruntime.device import OnnxDevice
from runner.backends.onnxruntime.sessions import create_session, session_options
from runner.backends.peaks import Kernel, PeakKernels, arena, last_integer_rows, random_matrix
from runner.contract.axes import Precision

Number = type[np.generic]


class _Product(NamedTuple):
    """The operator that multiplies, and the numbers of both factors and of the result."""

    operator: str
    left: Number
    right: Number
    result: Number


_PRODUCTS: Mapping[Precision, _Product] = {
    "fp32": _Product("MatMul", np.float32, np.float32, np.float32),
    "fp16": _Product("MatMul", np.float16, np.float16, np.float16),
    "int8": _Product("MatMulInteger", np.uint8, np.int8, np.int32),
}
"""The product of a precision; in int8 that of dynamically quantised layers."""
_CODES: Mapping[Number, int] = {np.float32: 1, np.uint8: 2, np.int8: 3, np.int32: 6, np.float16: 10}
_IR_VERSION, _OPSET = 8, 13


def onnx_peaks(device: OnnxDevice, precision: Precision, threads: int) -> PeakKernels | None:
    """The kernels on a device that need not compile them; None on a simulator."""
    if device.is_simulated:
        return None
    if device.compiles:
        return PeakKernels()
    maker = _OnnxPeaks(device, precision, threads)
    quantised = precision == "int8"
    operator, left, right, _ = maker.numbers
    factors = " by ".join(dict.fromkeys((left.__name__, right.__name__)))
    method = f"ONNX Runtime's MatMul and Neg in {factors}"
    if quantised:
        method = f"ONNX Runtime's {operator} of {factors}, Neg in {maker.copied.__name__}"
    # ONNX Runtime's CUDA provider takes no unsigned inputs: the CPU's product would stand in.
    here = not (quantised and device.is_accelerator)
    return PeakKernels(
        method=method,
        product=maker.product if here else None,
        last_rows=last_integer_rows(threads) if quantised else None,
        copy=maker.copy,
    )


class _OnnxPeaks:
    def __init__(self, device: OnnxDevice, precision: Precision, threads: int) -> None:
        self._device = device
        self._threads = threads
        self.numbers = _PRODUCTS[precision]
        self.copied: Number = np.float32 if precision == "int8" else self.numbers.result

    def product(self, size: int) -> Kernel:
        """The product of two matrices; no copy of one is prepared, as it is for a layer."""
        numbers = self.numbers
        right = random_matrix(size, numbers.right).T.copy()
        result = arena(size * size, numbers.result).reshape(size, size)
        return self._kernel(numbers.operator, (random_matrix(size, numbers.left), right), result)

    def copy(self, size: int) -> Kernel:
        """The negation of an array: it reads and writes as a copy does, with all threads."""
        elements = size // np.dtype(self.copied).itemsize
        source, result = (arena(elements, self.copied) for _ in range(2))
        source.fill(1)
        return self._kernel("Neg", (source,), result)

    def _kernel(
        self, operator: str, inputs: Sequence[np.ndarray[Any, Any]], result: np.ndarray[Any, Any]
    ) -> Kernel:
        session = create_session(
            one_node(operator, inputs, result),
            self._device,
            lambda fallback: session_options(threads=self._threads, fallback=fallback),
        )
        binding = session.io_binding()
        memory, index = self._device.memory, self._device.index
        arrays = (*inputs, result)
        values = [OrtValue.ortvalue_from_numpy(array, memory, index) for array in arrays]
        for number, value in enumerate(values[:-1]):
            binding.bind_ortvalue_input(f"x{number}", value)
        binding.bind_ortvalue_output("y", values[-1])

        def execute() -> object:
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            return values  # held here, since the binding knows their memory alone

        return execute


def one_node(
    operator: str, inputs: Sequence[np.ndarray[Any, Any]], output: np.ndarray[Any, Any]
) -> bytes:
    """An ONNX model of one node from `x0`, `x1`, … to `y`, shaped and typed as these arrays."""
    names = [f"x{number}" for number in range(len(inputs))]
    node = b"".join(_field(1, name.encode()) for name in names)
    node += _field(2, b"y") + _field(4, operator.encode())
    graph = _field(1, node) + _field(2, b"peak")
    for name, array in zip(names, inputs, strict=True):
        graph += _field(11, _tensor(name, array))
    graph += _field(12, _tensor("y", output))
    return _number(1, _IR_VERSION) + _field(7, graph) + _field(8, _number(2, _OPSET))


def _tensor(name: str, array: np.ndarray[Any, Any]) -> bytes:
    code = _CODES[array.dtype.type]
    sizes = b"".join(_field(1, _number(1, size)) for size in array.shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, code) + _field(2, sizes)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first."""
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
