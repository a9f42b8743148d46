"""Quantise fp32 ONNX files to int8, dynamically or by calibration."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnx_ir
import onnxruntime
from onnx import TensorProto
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize, quantize_dynamic
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

from runner.backends.onnxruntime.qnn.rewrites import QUANTIZED_REWRITES, write_for_htp
from runner.contract.errors import Unsupported
from runner.contract.graph import PART_WEIGHTS_SUFFIX
from runner.contract.reasons import reason
from runner.inputs import Inputs

_INTEGER_OPERATORS = frozenset(
    {"MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "ConvInteger"}
)
_WEIGHT_TYPES = (TensorProto.INT8, TensorProto.UINT8)
_DYNAMIC_OPERATORS = ("MatMul", "Gemm")
"""Operators that are quantised dynamically: ONNX Runtime's CPU has no int8 convolution."""
_CALIBRATED_OPERATORS = (*_DYNAMIC_OPERATORS, "Conv", "ConvTranspose")
_FilePairs = Sequence[tuple[Path, Path]]
"""Sources, each with the path of its quantised file."""
_MASKED = -100.0
"""The substitute for minus infinity: far below any score, and a probability of e^-100 is none."""
_HOPELESS = -1e30
"""Numbers below this one can only mean minus infinity."""


def quantize_dynamically(files: _FilePairs, *, signed: bool) -> str:
    """Quantise weights to 8 bits now, activations to uint8 in each run; return the method."""
    for source, target in files:
        _forget_weight_shapes(source)
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=list(_DYNAMIC_OPERATORS),
            per_channel=True,
            weight_type=QuantType.QInt8 if signed else QuantType.QUInt8,
            use_external_data_format=True,
        )
    counts = [integer_products(source, target, _DYNAMIC_OPERATORS) for source, target in files]
    return (
        f"dynamic, {' and '.join(_DYNAMIC_OPERATORS)}: {'int8' if signed else 'uint8'} weights"
        f" per channel, uint8 activations, in {_format_counts(counts)}"
    )


def quantize_by_calibration(files: _FilePairs, queries: Sequence[Inputs]) -> str:
    """Quantise weights to uint8 and activations to uint16, with the ranges of these queries.

    Both stand between QuantizeLinear and DequantizeLinear, as Qualcomm's QNN requires. The graph is
    rewritten for the HTP before, since it cannot be afterwards: by then every value has its range.
    """
    if len(files) > 1:
        raise Unsupported(reason("calibration_one_part"))
    ((plain, target),) = files
    with TemporaryDirectory() as name:
        source = Path(name) / plain.name
        rewrites = write_for_htp(plain, source, {}, QUANTIZED_REWRITES)
        config = get_qnn_qdq_config(
            source,
            _Calibration(source, queries),
            activation_type=QuantType.QUInt16,
            weight_type=QuantType.QUInt8,
            # Without an activation the HTP does not always clip to the range that remains.
            keep_removable_activations=True,
        )
        config.use_external_data_format = True
        quantize(source, target, config)
        counts = [_quantized_weights(source, target, _CALIBRATED_OPERATORS)]
    how = (
        f"QDQ: uint8 weights, uint16 activations, in {_format_counts(counts)}, "
        f"ranges between the extremes of {len(queries)} random queries, half padded, "
        f"masks of {_MASKED:g}"
    )
    return "; ".join((how, *rewrites))


def _format_counts(counts: Iterable[tuple[int, int]]) -> str:
    quantised, total = (sum(column) for column in zip(*counts, strict=True))
    if not total:
        raise Unsupported(reason("int8_no_product"))
    return f"{quantised} of {total} products"


def _forget_weight_shapes(path: Path) -> None:
    """Drop the recorded shapes of weights: ONNX Runtime transposes some, and then fails."""
    model = onnx.load_model(path, load_external_data=False)
    weights = {weight.name for weight in model.graph.initializer}
    others = [value for value in model.graph.value_info if value.name not in weights]
    del model.graph.value_info[:]
    model.graph.value_info.extend(others)
    onnx.save_model(model, path)


class _Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Queries one by one, with the arguments that the file takes."""

    def __init__(self, source: Path, queries: Iterable[Inputs]) -> None:
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        names = [argument.name for argument in session.get_inputs()]
        self._feeds = iter([{name: inputs[name] for name in names} for inputs in queries])

    def get_next(self) -> Any:
        return next(self._feeds, None)


def integer_products(source: Path, target: Path, kinds: Collection[str]) -> tuple[int, int]:
    """Numbers of integer products in the target, and of products of these kinds in the source."""
    quantised = sum(node.op_type in _INTEGER_OPERATORS for node in _nodes(_graph(target)))
    return _check_counts(quantised, source, kinds)


def _quantized_weights(source: Path, target: Path, kinds: Collection[str]) -> tuple[int, int]:
    """The same for weights stored as 8-bit integers in front of a DequantizeLinear."""
    graph = _graph(target)
    stored = {tensor.name for tensor in graph.initializer if tensor.data_type in _WEIGHT_TYPES}
    factors = {
        node.output[0]
        for node in graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in stored
    }
    products = (node for node in graph.node if node.op_type in kinds)
    quantised = sum(not factors.isdisjoint(node.input[:2]) for node in products)  # third is a bias
    return _check_counts(quantised, source, kinds)


def _check_counts(quantised: int, source: Path, kinds: Collection[str]) -> tuple[int, int]:
    total = sum(node.op_type in kinds for node in _nodes(_graph(source)))
    if total and not quantised:
        names = ", ".join(sorted(kinds))
        facts = {"graph": source.name, "products": total, "kinds": names}
        raise Unsupported(reason("int8_no_constant_weights", **facts))
    return quantised, total


def _graph(path: Path) -> Any:
    return onnx.load_model(path, load_external_data=False).graph


def _nodes(graph: Any) -> Iterator[Any]:
    """The graph's nodes, and those inside of its branches and loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def bound_masks(path: Path) -> None:
    """Replace masks of fp32's least number: a range from there leaves nothing of the scores."""
    model = onnx_ir.load(path)
    for value in model.graph.initializers.values():
        if value.const_value is not None and value.const_value.dtype == onnx_ir.DataType.FLOAT:
            value.const_value = _bounded(value.const_value)
    for node in model.graph:
        if node.op_type == "Constant" and "value" in node.attributes:
            tensor = node.attributes["value"].as_tensor()
            if tensor.dtype == onnx_ir.DataType.FLOAT:
                node.attributes.add(onnx_ir.AttrTensor("value", _bounded(tensor)))
    onnx_ir.save(model, path, external_data=f"{path.name}{PART_WEIGHTS_SUFFIX}")


def _bounded(tensor: onnx_ir.TensorProtocol) -> onnx_ir.TensorProtocol:
    numbers = tensor.numpy()
    if not (numbers < _HOPELESS).any():
        return tensor
    bounded = np.where(numbers < _HOPELESS, np.float32(_MASKED), numbers)
    return onnx_ir.tensor(bounded, name=tensor.name)
