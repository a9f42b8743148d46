"""Makes fp32 ONNX files ones that compute in whole numbers; each way tells what it did."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import onnxruntime
from onnx import TensorProto
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize, quantize_dynamic
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

from runner.backends.onnxruntime.qnn.rewrite import write_for_htp
from runner.backends.onnxruntime.qnn.rewrites import QUANTIZED_REWRITES
from runner.contract.errors import Unsupported
from runner.export.model_patches import MASKED
from runner.inputs import Inputs

INTEGER_PRODUCTS = frozenset(
    {"MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "ConvInteger"}
)
"""Products whose factors are whole numbers."""
WEIGHTS = (TensorProto.INT8, TensorProto.UINT8)


def integer_products(source: Path, target: Path, kinds: Collection[str]) -> tuple[int, int]:
    """How many products the target makes of whole numbers, and how many the source has.

    Args:
        source: the fp32 file.
        target: what was made of it.
        kinds: the operators of the source that count as products.

    Raises:
        Unsupported: the source has products, and none of them was quantised.
    """
    found = sum(node.op_type in INTEGER_PRODUCTS for node in _nodes(_graph(target)))
    return _counted(found, source, kinds)


def quantized_weights(source: Path, target: Path, kinds: Collection[str]) -> tuple[int, int]:
    """The same where weights are stored as 8-bit numbers, which a DequantizeLinear hands on.

    Raises:
        Unsupported: the source has products, and none of them was quantised.
    """
    graph = _graph(target)
    stored = {tensor.name for tensor in graph.initializer if tensor.data_type in WEIGHTS}
    factors = {
        node.output[0]
        for node in graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in stored
    }
    products = (node for node in graph.node if node.op_type in kinds)
    found = sum(not factors.isdisjoint(node.input[:2]) for node in products)  # third is a bias
    return _counted(found, source, kinds)


def _counted(found: int, source: Path, kinds: Collection[str]) -> tuple[int, int]:
    total = sum(node.op_type in kinds for node in _nodes(_graph(source)))
    if total and not found:
        raise Unsupported(
            f"{source.name} would not become int8: of its {total} products "
            f"({', '.join(sorted(kinds))}) none was quantised, as none has constant weights"
        )
    return found, total


def _graph(path: Path) -> Any:
    return onnx.load_model(path, load_external_data=False).graph


def _nodes(graph: Any) -> Iterator[Any]:
    """The graph's nodes, and those inside of its branches and loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


Files = Sequence[tuple[Path, Path]]
"""Sources and where what is made of them goes."""

PRODUCTS = ("MatMul", "Gemm")
"""What is quantised dynamically: ONNX Runtime's CPU has no convolution with int8 weights."""
CALIBRATED = (*PRODUCTS, "Conv", "ConvTranspose")
"""What has weights that calibration makes whole numbers of."""


def dynamically(files: Files) -> str:
    """Weights become int8 now, activations uint8 whenever the file is run.

    Raises:
        Unsupported: of some file's products none became one of whole numbers, or there are none.
    """
    for source, target in files:
        _forget_weight_shapes(source)
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=list(PRODUCTS),
            per_channel=True,
            weight_type=QuantType.QInt8,
            use_external_data_format=True,
        )
    counts = [integer_products(source, target, PRODUCTS) for source, target in files]
    return (
        f"dynamic, {' and '.join(PRODUCTS)}: int8 weights per channel, uint8 activations, "
        f"in {_told(counts)}"
    )


def by_calibration(files: Files, queries: Sequence[Inputs]) -> str:
    """Weights become uint8 and activations uint16, with the ranges that these queries lead to.

    Both stand between QuantizeLinear and DequantizeLinear, as Qualcomm's QNN wants them. What is
    quantised is the graph as it is rewritten for the HTP, since later nobody could: by then every
    value has its range.

    Raises:
        Unsupported: there are several files, and queries are for the first of them alone; or no
            product of the file got such weights.
    """
    if len(files) > 1:
        raise Unsupported("ranges are found by calibration for graphs of one part alone")
    ((plain, target),) = files
    with TemporaryDirectory() as name:
        source = Path(name) / plain.name
        rewrites = write_for_htp(plain, source, {}, QUANTIZED_REWRITES)
        _calibrate(source, target, queries)
        counts = [quantized_weights(source, target, CALIBRATED)]
    return "; ".join(
        (
            f"QDQ: uint8 weights, uint16 activations, in {_told(counts)}, "
            f"ranges between the extremes of {len(queries)} random queries, masks of {MASKED:g}",
            *rewrites,
        )
    )


def _calibrate(source: Path, target: Path, queries: Sequence[Inputs]) -> None:
    config = get_qnn_qdq_config(
        source,
        _Calibration(source, queries),
        activation_type=QuantType.QUInt16,
        weight_type=QuantType.QUInt8,
        # The HTP does not always clip where only a range stands for what is left out.
        keep_removable_activations=True,
    )
    config.use_external_data_format = True
    quantize(source, target, config)


def _told(counts: Iterable[tuple[int, int]]) -> str:
    """`12 of 14 products`.

    Raises:
        Unsupported: there is no product in any file.
    """
    found, total = (sum(each) for each in zip(*counts, strict=True))
    if not total:
        raise Unsupported("the graph would not become int8: it has no product to quantise")
    return f"{found} of {total} products"


def _forget_weight_shapes(path: Path) -> None:
    """ONNX Runtime transposes the weights of Gemm, and then stumbles over what is said of them."""
    model = onnx.load_model(path, load_external_data=False)
    weights = {weight.name for weight in model.graph.initializer}
    others = [value for value in model.graph.value_info if value.name not in weights]
    del model.graph.value_info[:]
    model.graph.value_info.extend(others)
    onnx.save_model(model, path)


class _Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Hands out queries one by one, without the arguments that the file does not take."""

    def __init__(self, source: Path, queries: Iterable[Inputs]) -> None:
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        names = [taken.name for taken in session.get_inputs()]
        self._feeds = iter([{name: inputs[name] for name in names} for inputs in queries])

    def get_next(self) -> Any:
        return next(self._feeds, None)
