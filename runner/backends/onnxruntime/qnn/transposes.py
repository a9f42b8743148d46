"""Rewrites around transposes, which the HTP's compiler confuses or cannot do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, attribute_of

MANY_AXES = 5
"""The HTP's tensors have no more, and its compiler may fail to move as many."""


def join_neighbours(fixed: FixedGraph) -> int:
    """Move axes that stay neighbours as one, and none of one element, between reshapes."""
    count = 0
    for node in fixed.nodes("Transpose"):
        (source,), (result,) = node.input, node.output
        shape, order = fixed.shapes.get(source), attribute_of(node, "perm")
        if shape is None or order is None or not _is_inner(fixed, source, result):
            continue
        groups = _neighbours([axis for axis in order.ints if shape[axis] > 1], shape)
        if len(shape) < MANY_AXES or not 0 < len(groups) < len(shape):
            continue
        _move_groups(fixed, node, groups, shape)
        count += 1
    return count


def _move_groups(
    fixed: FixedGraph, node: Any, groups: Sequence[tuple[int, ...]], shape: Sequence[int]
) -> None:
    """Let the reshape before join these axes, the node move them, those behind part them."""
    (source,), (result,) = node.input, node.output
    before, behind, old = fixed.producer(source), fixed.consumers(result), sorted(groups)
    sizes = np.array([np.prod([shape[axis] for axis in group]) for group in old], dtype=np.int64)
    before.input[1] = fixed.add_constant(f"{source}.joined.shape", sizes)
    before.output[0] = node.input[0] = f"{source}.joined"
    attribute_of(node, "perm").ints[:] = [old.index(group) for group in groups]
    node.output[0] = f"{result}.joined"
    for consumer in behind:
        consumer.input[0] = f"{result}.joined"


def _is_inner(fixed: FixedGraph, source: str, result: str) -> bool:
    """True if a reshape makes the source for one consumer, and only reshapes take the result."""
    producer, consumers = fixed.producer(source), fixed.consumers(result)
    if producer is None or not consumers or len(fixed.consumers(source)) > 1:
        return False
    if not {source, result}.isdisjoint(value.name for value in fixed.graph.output):
        return False
    # A zero in a reshape's target would copy a size of what is no longer there.
    targets = [fixed.constant(node.input[1]) for node in consumers if node.op_type == "Reshape"]
    explicit = [target for target in targets if target is not None and target.all()]
    return producer.op_type == "Reshape" and len(explicit) == len(consumers)


def _neighbours(order: Sequence[int], shape: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes in this order, together if they follow each other in the old one, too."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        last = groups[-1][-1] if groups else len(shape)
        if last < axis and set(shape[last + 1 : axis]) <= {1}:
            groups[-1] += (axis,)
        else:
            groups.append((axis,))
    return groups


def flatten_heads(fixed: FixedGraph) -> int:
    """Multiply rows instead of samples of rows behind an attention with as many heads as tokens."""
    count = 0
    for product in fixed.nodes("MatMul"):
        joined = fixed.producer(product.input[0])
        (result,) = product.output
        shape, weights = fixed.shapes.get(result), fixed.constant(product.input[1])
        if (
            shape is None
            or weights is None
            or weights.ndim > 2
            or not _are_even_heads(fixed, joined)
        ):
            continue
        rows = f"{result}.rows"
        sizes = np.array([-1, len(weights)], dtype=np.int64)
        joined.input[1] = fixed.add_constant(f"{rows}.shape", sizes)
        joined.output[0] = product.input[0] = rows
        product.output[0] = f"{result}.flat"
        fixed.add_constant(f"{result}.shape", np.array(shape, dtype=np.int64))
        back = [product.output[0], f"{result}.shape"]
        fixed.add_node(product, "Reshape", back, result, behind=True)
        count += 1
    return count


def _are_even_heads(fixed: FixedGraph, node: Any) -> bool:
    """True for a reshape of heads moved behind tokens, as many as there are samples and tokens."""
    if node is None or node.op_type != "Reshape" or len(fixed.consumers(node.output[0])) > 1:
        return False
    move = fixed.producer(node.input[0])
    if move is None or move.op_type != "Transpose":
        return False
    shape, order = fixed.shapes.get(move.input[0]), attribute_of(move, "perm")
    if shape is None or order is None:
        return False
    return list(order.ints) == [0, 2, 1, 3] and len(set(shape[:3])) == 1
