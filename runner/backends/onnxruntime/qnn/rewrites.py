"""Subgraphs that the HTP's compiler gets wrong, rewritten to others that compute the same.

Seen with onnxruntime-qnn 2.7.0, QNN 2.51, on the simulator; `docs/decisions/0012` has the figures.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, attribute_of, write_fixed

Rewrite = tuple[str, Callable[[FixedGraph, Any], bool]]
"""An operator, and a function that rewrites a node of it, if it can; True if it did."""
_MANY_AXES = 5
"""The HTP's tensors have no more, and its compiler may fail to move as many."""
_PRODUCTS = ("MatMul", "Gemm", "Conv")


def _join_neighbours(fixed: FixedGraph, node: Any) -> bool:
    """Move axes that stay neighbours as one, and none of one element, between reshapes."""
    (source,), (result,) = node.input, node.output
    shape, order = fixed.shapes.get(source), attribute_of(node, "perm")
    if shape is None or order is None or not _is_inner(fixed, source, result):
        return False
    groups = _neighbours([axis for axis in order.ints if shape[axis] > 1], shape)
    if len(shape) < _MANY_AXES or not 0 < len(groups) < len(shape):
        return False
    # The reshape before joins these axes, the node moves them, those behind part them.
    before, behind, old = fixed.producer(source), fixed.consumers(result), sorted(groups)
    sizes = np.array([np.prod([shape[axis] for axis in group]) for group in old], dtype=np.int64)
    before.input[1] = fixed.add_constant(f"{source}.joined.shape", sizes)
    before.output[0] = node.input[0] = f"{source}.joined"
    order.ints[:] = [old.index(group) for group in groups]
    node.output[0] = f"{result}.joined"
    for consumer in behind:
        consumer.input[0] = f"{result}.joined"
    return True


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


def _flatten_heads(fixed: FixedGraph, product: Any) -> bool:
    """Multiply rows instead of samples of rows behind an attention with as many heads as tokens."""
    joined = fixed.producer(product.input[0])
    (result,) = product.output
    shape, weights = fixed.shapes.get(result), fixed.constant(product.input[1])
    if shape is None or weights is None or weights.ndim > 2 or not _are_even_heads(fixed, joined):
        return False
    rows = f"{result}.rows"
    sizes = np.array([-1, len(weights)], dtype=np.int64)
    joined.input[1] = fixed.add_constant(f"{rows}.shape", sizes)
    joined.output[0] = product.input[0] = rows
    product.output[0] = f"{result}.flat"
    fixed.add_constant(f"{result}.shape", np.array(shape, dtype=np.int64))
    back = [product.output[0], f"{result}.shape"]
    fixed.add_node(product, "Reshape", back, result, behind=True)
    return True


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


def _multiply_squares(fixed: FixedGraph, node: Any) -> bool:
    power = fixed.constant(node.input[1])
    if power is None or not np.array_equal(power, 2.0):
        return False
    node.op_type = "Mul"
    node.input[1] = node.input[0]
    return True


def _repeat_addends(fixed: FixedGraph, norm: Any) -> bool:
    add = fixed.producer(norm.input[0])
    shape = fixed.shapes.get(norm.input[0])
    if add is None or add.op_type != "Add" or shape is None:
        return False
    is_repeated = False
    for index, name in enumerate(add.input):
        constant = fixed.constant(name)
        if constant is not None and constant.ndim > 1 and constant.shape != shape:
            full = np.ascontiguousarray(np.broadcast_to(constant, shape))
            add.input[index] = fixed.add_constant(f"{norm.input[0]}.addend", full)
            is_repeated = True
    return is_repeated


def _reshape_masks(fixed: FixedGraph, node: Any) -> bool:
    source, indices = fixed.shapes.get(node.input[0]), fixed.constant(node.input[1])
    batched = any(attribute.i for attribute in node.attribute)
    if source is None or indices is None or indices.shape[-1] != len(source) or batched:
        return False
    elements = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), source)
    if not np.array_equal(elements.ravel(), np.arange(np.prod(source))):
        return False
    shape = np.array(elements.shape, dtype=np.int64)
    node.op_type = "Reshape"
    del node.attribute[:]
    node.input[1] = fixed.add_constant(f"{node.output[0]}.shape", shape)
    return True


def _negate(fixed: FixedGraph, node: Any) -> bool:
    """Negate before and behind a hyperbolic tangent of a product; take a sigmoid from 1 instead."""
    if not _is_product(fixed, node.input[0]):
        return False
    (source,), (result,) = node.input, node.output
    before, behind = f"{result}.negated", f"{result}.of_negated"
    node.input[0], node.output[0] = before, behind
    fixed.add_node(node, "Neg", [source], before)
    if node.op_type == "Tanh":
        fixed.add_node(node, "Neg", [behind], result, behind=True)
    else:
        one = fixed.add_constant(f"{result}.one", np.ones(1, dtype=np.float32))
        fixed.add_node(node, "Sub", [one, behind], result, behind=True)
    return True


def _is_product(fixed: FixedGraph, name: str) -> bool:
    """True for a product's result, also with a constant added or in another shape."""
    node = fixed.producer(name)
    while node is not None and node.op_type in {"Reshape", "Add"}:
        varying = [source for source in node.input if source not in fixed.constants]
        if len(varying) != 1:
            return False
        node = fixed.producer(varying[0])
    return node is not None and node.op_type in _PRODUCTS


def _multiply_rows_by_vectors(fixed: FixedGraph, node: Any) -> bool:
    # `bd,bkd->bk`, by whatever letters
    equation = attribute_of(node, "equation").s.decode().replace(" ", "")
    factors, _, summed = equation.partition("->")
    first, _, second = factors.partition(",")
    if len(set(second)) != 3 or len(second) != 3 or (first, summed) != (second[::2], second[:2]):
        return False
    vector, rows = node.input
    size, shape = fixed.shapes.get(vector), fixed.shapes.get(rows)
    if size is None or shape is None:
        return False
    (result,) = node.output
    column, product = f"{result}.column", f"{result}.product"
    sizes = {f"{column}.shape": (*size, 1), f"{result}.shape": shape[:2]}
    for name, values in sizes.items():
        fixed.add_constant(name, np.array(values, dtype=np.int64))
    node.op_type = "MatMul"
    del node.attribute[:]
    node.input[:] = [rows, column]
    node.output[0] = product
    fixed.add_node(node, "Reshape", [vector, f"{column}.shape"], column)
    fixed.add_node(node, "Reshape", [product, f"{result}.shape"], result, behind=True)
    return True


def _multiply_and_add(fixed: FixedGraph, node: Any) -> bool:
    source, *names = node.input
    numbers = [values for name in names if (values := fixed.constant(name)) is not None]
    shape, (result,) = fixed.shapes.get(source), node.output
    if shape is None or len(numbers) < len(names):
        return False
    scale, bias, mean, variance = numbers
    factor = scale / np.sqrt(variance + np.float32(attribute_of(node, "epsilon").f))
    column = (-1, *[1] * (len(shape) - 2))
    for name, values in {"factor": factor, "addend": bias - mean * factor}.items():
        fixed.add_constant(f"{result}.{name}", values.reshape(column))
    node.op_type = "Mul"
    del node.attribute[:]
    node.input[:] = [source, f"{result}.factor"]
    node.output[0] = f"{result}.product"
    fixed.add_node(node, "Add", [f"{result}.product", f"{result}.addend"], result, behind=True)
    return True


def _compare_with_half(fixed: FixedGraph, node: Any) -> bool:
    limit = fixed.constant(node.input[1])
    if limit is None or limit.dtype != np.float32 or not (limit == 1).all():
        return False
    name = node.input[0]
    for operator in ("ReduceSum", "Cast"):  # a count is the sum of booleans
        producer = fixed.producer(name)
        if producer is None or producer.op_type != operator:
            return False
        name = producer.input[0]
    if name not in fixed.booleans:
        return False
    node.input[1] = fixed.add_constant(f"{node.output[0]}.half", np.full_like(limit, 0.5))
    return True


def _divide(fixed: FixedGraph, node: Any) -> bool:
    one = fixed.add_constant(f"{node.output[0]}.one", np.array(1.0, dtype=np.float32))
    node.op_type = "Div"
    node.input[:] = [one, node.input[0]]
    return True


REWRITES: Mapping[str, Rewrite] = {
    "Pow(x, 2) as Mul(x, x): else plugin and compiler fail on a fused RMS norm": (
        "Pow",
        _multiply_squares,
    ),
    "addends before LayerNormalization repeated for each sample: "
    "else the compiler normalises only the first sample rightly": (
        "LayerNormalization",
        _repeat_addends,
    ),
    "GatherND of every element as Reshape: the plugin has none on truth values": (
        "GatherND",
        _reshape_masks,
    ),
    "Tanh(x) of products as -Tanh(-x): else the compiler fuses both and is off by 3 %": (
        "Tanh",
        _negate,
    ),
    "Sigmoid(x) of products as 1 - Sigmoid(-x): else the compiler fuses both and is off by 0.4 %": (
        "Sigmoid",
        _negate,
    ),
    "Einsum bd,bkd->bk as MatMul: the plugin has none": ("Einsum", _multiply_rows_by_vectors),
    "products behind as many samples, heads and tokens over rows alone: "
    "else the compiler confuses them": ("MatMul", _flatten_heads),
    f"Transpose of {_MANY_AXES} or more axes with neighbours as one: the HTP has no more, "
    "and its compiler fails behind some slices": ("Transpose", _join_neighbours),
}
"""The rewrites of a floating-point graph, by the description that records get."""
QUANTIZED_REWRITES: Mapping[str, Rewrite] = {
    **REWRITES,
    "BatchNormalization as Mul and Add: the plugin has none of these ranges": (
        "BatchNormalization",
        _multiply_and_add,
    ),
    "counts below 1 as below 0.5: a quantised 1 may fall below 1": ("Less", _compare_with_half),
    "Reciprocal(x) as 1 / x: in fixed point the HTP errs where x stays below 1": (
        "Reciprocal",
        _divide,
    ),
}
"""The same before a graph is quantised."""


def write_for_htp(
    model: Path, written: Path, sizes: Mapping[str, int], rewrites: Mapping[str, Rewrite] = REWRITES
) -> list[str]:
    """Write the graph with these symbolic sizes, rewritten; return the rewrites that applied."""
    write_fixed(model, written, sizes)
    fixed = FixedGraph(written)
    applied = [
        description
        for description, (operator, rewrite) in rewrites.items()
        if sum(rewrite(fixed, node) for node in fixed.nodes(operator))
    ]
    fixed.save()
    return applied
