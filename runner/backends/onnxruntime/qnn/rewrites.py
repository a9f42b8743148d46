"""Subgraphs that the HTP's compiler gets wrong, rewritten to others that compute the same.

Seen with onnxruntime-qnn 2.7.0, QNN 2.51, on the simulator; `docs/decisions/0012` has the figures.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, attribute_of, write_fixed

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


_PRODUCTS = ("MatMul", "Gemm", "Conv")

Rewrite = Callable[[FixedGraph], int]
"""Rewrites the graph; returns how often it did."""


def _squares(fixed: FixedGraph) -> int:
    """Make products of squares."""
    squares = [
        node
        for node in fixed.nodes("Pow")
        if (power := fixed.constant(node.input[1])) is not None and np.array_equal(power, 2.0)
    ]
    for node in squares:
        node.op_type = "Mul"
        node.input[1] = node.input[0]
    return len(squares)


def _addends(fixed: FixedGraph) -> int:
    """Repeat constants that are added before a normalisation."""
    normalised = {node.input[0] for node in fixed.nodes("LayerNormalization")}
    count = 0
    for node in fixed.nodes("Add"):
        (result,) = node.output
        shape = fixed.shapes.get(result)
        if shape is None or result not in normalised:
            continue
        for index, name in enumerate(node.input):
            constant = fixed.constant(name)
            if constant is not None and constant.ndim > 1 and constant.shape != shape:
                full = np.ascontiguousarray(np.broadcast_to(constant, shape))
                node.input[index] = fixed.add_constant(f"{result}.addend", full)
                count += 1
    return count


def _masks(fixed: FixedGraph) -> int:
    """Make reshapes of GatherNDs that take every element in order."""
    count = 0
    for node in fixed.nodes("GatherND"):
        source, indices = fixed.shapes.get(node.input[0]), fixed.constant(node.input[1])
        batched = any(attribute.i for attribute in node.attribute)
        if source is None or indices is None or indices.shape[-1] != len(source) or batched:
            continue
        elements = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), source)
        if np.array_equal(elements.ravel(), np.arange(np.prod(source))):
            shape = np.array(elements.shape, dtype=np.int64)
            node.op_type = "Reshape"
            del node.attribute[:]
            node.input[1] = fixed.add_constant(f"{node.output[0]}.shape", shape)
            count += 1
    return count


def _tangents(fixed: FixedGraph) -> int:
    """Negate before and behind a hyperbolic tangent of a product's result."""
    tangents = [node for node in fixed.nodes("Tanh") if _is_product(fixed, node.input[0])]
    for node in tangents:
        (source,), (result,) = node.input, node.output
        before, behind = f"{result}.negated", f"{result}.of_negated"
        node.input[0], node.output[0] = before, behind
        fixed.add_node(node, "Neg", [source], before)
        fixed.add_node(node, "Neg", [behind], result, behind=True)
    return len(tangents)


def _sigmoids(fixed: FixedGraph) -> int:
    """Negate before a sigmoid of a product's result, and take it from 1."""
    sigmoids = [node for node in fixed.nodes("Sigmoid") if _is_product(fixed, node.input[0])]
    for node in sigmoids:
        (source,), (result,) = node.input, node.output
        before, behind = f"{result}.negated", f"{result}.of_negated"
        one = fixed.add_constant(f"{result}.one", np.ones(1, dtype=np.float32))
        node.input[0], node.output[0] = before, behind
        fixed.add_node(node, "Neg", [source], before)
        fixed.add_node(node, "Sub", [one, behind], result, behind=True)
    return len(sigmoids)


def _is_product(fixed: FixedGraph, name: str) -> bool:
    """True for a product's result, also with a constant added or in another shape."""
    node = fixed.producer(name)
    while node is not None and node.op_type in {"Reshape", "Add"}:
        varying = [source for source in node.input if source not in fixed.constants]
        if len(varying) != 1:
            return False
        node = fixed.producer(varying[0])
    return node is not None and node.op_type in _PRODUCTS


def _rows_by_vectors(fixed: FixedGraph) -> int:
    """Make a matrix product of an Einsum that multiplies each sample's rows by its vector."""
    count = 0
    for node in fixed.nodes("Einsum"):
        if not _is_rows_by_vector(attribute_of(node, "equation").s.decode()):
            continue
        vector, rows = node.input
        size, shape = fixed.shapes.get(vector), fixed.shapes.get(rows)
        if size is None or shape is None:
            continue
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
        count += 1
    return count


def _is_rows_by_vector(equation: str) -> bool:
    """True for `bd,bkd->bk`, by whatever letters."""
    sources, _, result = equation.replace(" ", "").partition("->")
    vector, _, rows = sources.partition(",")
    return len(set(rows)) == len(rows) == 3 and (vector, result) == (rows[::2], rows[:2])


def _affine(fixed: FixedGraph) -> int:
    """Make a product and a sum of a batch normalisation, whose statistics are constants."""
    count = 0
    for node in fixed.nodes("BatchNormalization"):
        source, *names = node.input
        numbers = [values for name in names if (values := fixed.constant(name)) is not None]
        shape, (result,) = fixed.shapes.get(source), node.output
        if shape is None or len(numbers) < len(names):
            continue
        scale, bias, mean, variance = numbers
        factor = scale / np.sqrt(variance + np.float32(attribute_of(node, "epsilon").f))
        column = (-1, *[1] * (len(shape) - 2))
        for name, values in {"factor": factor, "addend": bias - mean * factor}.items():
            fixed.add_constant(f"{result}.{name}", values.reshape(column))
        node.op_type = "Mul"
        del node.attribute[:]
        node.input[:] = [source, f"{result}.factor"]
        node.output[0] = f"{result}.product"
        addends = [f"{result}.product", f"{result}.addend"]
        fixed.add_node(node, "Add", addends, result, behind=True)
        count += 1
    return count


def _counts(fixed: FixedGraph) -> int:
    """Compare a count with a half instead of with 1."""
    count = 0
    for node in fixed.nodes("Less"):
        limit = fixed.constant(node.input[1])
        if limit is None or limit.dtype != np.float32 or not (limit == 1).all():
            continue
        if _is_count(fixed, node.input[0]):
            half = np.full_like(limit, 0.5)
            node.input[1] = fixed.add_constant(f"{node.output[0]}.half", half)
            count += 1
    return count


def _is_count(fixed: FixedGraph, name: str) -> bool:
    """True if the value is the number of true ones among some booleans."""
    for operator in ("ReduceSum", "Cast"):
        node = fixed.producer(name)
        if node is None or node.op_type != operator:
            return False
        name = node.input[0]
    return name in fixed.booleans


def _reciprocals(fixed: FixedGraph) -> int:
    """Make quotients of reciprocals."""
    reciprocals = fixed.nodes("Reciprocal")
    for node in reciprocals:
        one = fixed.add_constant(f"{node.output[0]}.one", np.array(1.0, dtype=np.float32))
        node.op_type = "Div"
        node.input[:] = [one, node.input[0]]
    return len(reciprocals)


REWRITES: Mapping[str, Rewrite] = {
    "Pow(x, 2) as Mul(x, x): else plugin and compiler fail on a fused RMS norm": _squares,
    "addends before LayerNormalization repeated for each sample: "
    "else the compiler normalises only the first sample rightly": _addends,
    "GatherND of every element as Reshape: the plugin has none on truth values": _masks,
    "Tanh(x) of products as -Tanh(-x): else the compiler fuses both and is off by 3 %": _tangents,
    "Sigmoid(x) of products as 1 - Sigmoid(-x): else the compiler fuses both and is off by 0.4 %": (
        _sigmoids
    ),
    "Einsum bd,bkd->bk as MatMul: the plugin has none": _rows_by_vectors,
    "products behind as many samples, heads and tokens over rows alone: "
    "else the compiler confuses them": flatten_heads,
    f"Transpose of {MANY_AXES} or more axes with neighbours as one: the HTP has no more, "
    "and its compiler fails behind some slices": join_neighbours,
}
"""The rewrites of a floating-point graph, by the description that records get."""
QUANTIZED_REWRITES: Mapping[str, Rewrite] = {
    **REWRITES,
    "BatchNormalization as Mul and Add: the plugin has none of these ranges": _affine,
    "counts below 1 as below 0.5: a quantised 1 may fall below 1": _counts,
    "Reciprocal(x) as 1 / x: in fixed point the HTP errs where x stays below 1": _reciprocals,
}
"""The same before a graph is quantised."""


def write_for_htp(
    model: Path, written: Path, sizes: Mapping[str, int], rewrites: Mapping[str, Rewrite] = REWRITES
) -> list[str]:
    """Write the graph of that fp32 file with fixed sizes; return the rewrites that applied.

    Args:
        model: the file.
        written: the path of the new file; its weights are written beside it.
        sizes: the values of the graph's symbolic dimensions.
        rewrites: the rewrites to try, by their descriptions.
    """
    write_fixed(model, written, sizes)
    fixed = FixedGraph(written)
    applied = [description for description, rewrite in rewrites.items() if rewrite(fixed)]
    fixed.save()
    return applied
