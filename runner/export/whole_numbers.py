"""Counts in written files what computes in whole numbers: a quantiser skips what it cannot take."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto

from runner.errors import Unsupported

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
