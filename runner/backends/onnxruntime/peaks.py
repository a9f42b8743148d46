"""ONNX Runtime's own product of matrices and its negation, as graphs of one node.

The graphs are written here byte by byte: the package `onnx` is not in every image.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnxruntime import OrtValue

from runner.backends.onnxruntime.device import OnnxDevice
from runner.backends.onnxruntime.sessions import create_session, session_options
from runner.backends.peaks import Kernel, PeakKernels, arena, random_matrix
from runner.contract.cell import Precision

_NUMBERS: Mapping[Precision, tuple[type[np.generic], int]] = {
    "fp32": (np.float32, 1),
    "fp16": (np.float16, 10),
}
"""The numbers of a precision, and ONNX's code of their type (TensorProto.DataType)."""
_IR_VERSION, _OPSET = 8, 13


def onnx_peaks(device: OnnxDevice, precision: Precision, threads: int) -> PeakKernels | None:
    """The kernels on a device; none on a simulator, whose times say nothing.

    A device that compiles whole graphs would take longer to compile them than all else here.
    """
    if device.is_simulated:
        return None
    if device.compiles:
        return PeakKernels()
    maker = _OnnxPeaks(device, "fp32" if precision == "int8" else precision, threads)
    return PeakKernels(
        method=f"ONNX Runtime's MatMul and Neg in {maker.number.__name__}",
        product=None if precision == "int8" else maker.product,
        copy=maker.copy,
    )


class _OnnxPeaks:
    def __init__(self, device: OnnxDevice, precision: Precision, threads: int) -> None:
        self._device = device
        self._threads = threads
        self.number, self._code = _NUMBERS[precision]

    def product(self, size: int) -> Kernel:
        """The product of two matrices; no copy of one is prepared, as it is for a layer."""
        matrix = random_matrix(size, self.number)
        result = arena(size * size, self.number).reshape(size, size)
        return self._kernel("MatMul", (matrix, matrix.T.copy()), result)

    def copy(self, size: int) -> Kernel:
        """The negation of an array: it reads and writes as a copy does, with all threads."""
        elements = size // np.dtype(self.number).itemsize
        source, result = (arena(elements, self.number) for _ in range(2))
        source.fill(1)
        return self._kernel("Neg", (source,), result)

    def _kernel(
        self, operator: str, inputs: Sequence[np.ndarray[Any, Any]], result: np.ndarray[Any, Any]
    ) -> Kernel:
        graph = one_node(operator, [array.shape for array in inputs], result.shape, self._code)
        session = create_session(
            graph,
            self._device,
            lambda fallback: session_options(threads=self._threads, fallback=fallback),
        )
        binding = session.io_binding()
        values = [self._placed(array) for array in (*inputs, result)]
        for number, value in enumerate(values[:-1]):
            binding.bind_ortvalue_input(f"x{number}", value)
        binding.bind_ortvalue_output("y", values[-1])

        def execute() -> object:
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            return values  # held here, since the binding knows their memory alone

        return execute

    def _placed(self, array: np.ndarray[Any, Any]) -> Any:
        return OrtValue.ortvalue_from_numpy(array, self._device.memory, self._device.index)


def one_node(
    operator: str, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...], code: int
) -> bytes:
    """An ONNX model of one node from tensors `x0`, `x1`, … to `y`, as its protobuf."""
    names = [f"x{number}" for number in range(len(inputs))]
    node = b"".join(_field(1, name.encode()) for name in names)
    node += _field(2, b"y") + _field(4, operator.encode())
    graph = _field(1, node) + _field(2, b"peak")
    for name, shape in zip(names, inputs, strict=True):
        graph += _field(11, _tensor(name, shape, code))
    graph += _field(12, _tensor("y", output, code))
    return _number(1, _IR_VERSION) + _field(7, graph) + _field(8, _number(2, _OPSET))


def _tensor(name: str, shape: tuple[int, ...], code: int) -> bytes:
    """A ValueInfoProto with a type of that shape."""
    sizes = b"".join(_field(1, _number(1, size)) for size in shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, code) + _field(2, sizes)))


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes, a text or a message."""
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
