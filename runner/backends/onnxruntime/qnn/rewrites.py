"""What the HTP's compiler gets wrong, each as what computes the same and it gets right.

Seen with onnxruntime-qnn 2.7.0, QNN 2.51, on the simulator; `docs/decisions/0025` has the figures.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.onnxruntime.qnn.onnx_file import add_node, add_values, attribute_of, values_of

PRODUCTS = ("MatMul", "Gemm", "Conv")
MANY_AXES = 5
"""The HTP's tensors have no more, and to move as many is what its compiler may fail at."""


@dataclass(frozen=True)
class FixedGraph:
    """A graph all of whose sizes are known."""

    graph: Any
    """What is rewritten."""
    folder: Path
    """Where its weights lie."""
    constants: Mapping[str, Any]
    """The initialisers, by name; their numbers are read as they are asked for."""
    shapes: Mapping[str, tuple[int, ...] | None]
    """The shapes of values, as far as the exporter has told them."""
    truths: Collection[str]
    """The values that are true or false, as far as it has told them."""

    def constant(self, name: str) -> npt.NDArray[Any] | None:
        """The numbers of that initialiser; None if there is none, or of another kind."""
        tensor = self.constants.get(name)
        return None if tensor is None else values_of(tensor, self.folder)

    def nodes(self, kind: str) -> list[Any]:
        """The nodes of that operator."""
        return [node for node in self.graph.node if node.op_type == kind]

    @cached_property
    def _makers(self) -> Mapping[str, Any]:
        return {result: node for node in self.graph.node for result in node.output}

    @cached_property
    def _takers(self) -> Mapping[str, list[Any]]:
        takers: dict[str, list[Any]] = {}
        for node in self.graph.node:
            for name in node.input:
                takers.setdefault(name, []).append(node)
        return takers

    def taken_by(self, name: str) -> list[Any]:
        """The nodes that take that value."""
        return self._takers.get(name, [])

    def made_by(self, name: str) -> Any:
        """The node whose result that value is; None for what none computes."""
        return self._makers.get(name)


Rewrite = Callable[[FixedGraph], int]
"""Rewrites the graph; how often it did."""


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
    found = 0
    for node in fixed.nodes("Add"):
        (result,) = node.output
        shape = fixed.shapes.get(result)
        if shape is None or result not in normalised:
            continue
        for place, name in enumerate(node.input):
            constant = fixed.constant(name)
            if constant is not None and constant.ndim > 1 and constant.shape != shape:
                full = np.ascontiguousarray(np.broadcast_to(constant, shape))
                node.input[place] = add_values(fixed.graph, f"{result}.addend", full)
                found += 1
    return found


def _masks(fixed: FixedGraph) -> int:
    """Make reshapes of GatherNDs that take every element in its place."""
    found = 0
    for node in fixed.nodes("GatherND"):
        source, indices = fixed.shapes.get(node.input[0]), fixed.constant(node.input[1])
        batched = any(attribute.i for attribute in node.attribute)
        if source is None or indices is None or indices.shape[-1] != len(source) or batched:
            continue
        places = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), source)
        if np.array_equal(places.ravel(), np.arange(np.prod(source))):
            shape = np.array(places.shape, dtype=np.int64)
            node.op_type = "Reshape"
            del node.attribute[:]
            node.input[1] = add_values(fixed.graph, f"{node.output[0]}.shape", shape)
            found += 1
    return found


def _tangents(fixed: FixedGraph) -> int:
    """Negate before and behind a hyperbolic tangent of a product's result."""
    found = [node for node in fixed.nodes("Tanh") if _is_product(fixed, node.input[0])]
    for node in found:
        (source,), (result,) = node.input, node.output
        before, behind = f"{result}.negated", f"{result}.of_negated"
        node.input[0], node.output[0] = before, behind
        add_node(fixed.graph, node, "Neg", [source], before)
        add_node(fixed.graph, node, "Neg", [behind], result, behind=True)
    return len(found)


def _is_product(fixed: FixedGraph, name: str) -> bool:
    """Whether the value is a product's result, also with a constant added or in another shape."""
    node = fixed.made_by(name)
    while node is not None and node.op_type in {"Reshape", "Add"}:
        varying = [each for each in node.input if each not in fixed.constants]
        if len(varying) != 1:
            return False
        node = fixed.made_by(varying[0])
    return node is not None and node.op_type in PRODUCTS


def _rows_by_vectors(fixed: FixedGraph) -> int:
    """Make a matrix product of an Einsum that multiplies each sample's rows by its vector."""
    found = 0
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
            add_values(fixed.graph, name, np.array(values, dtype=np.int64))
        node.op_type = "MatMul"
        del node.attribute[:]
        node.input[:] = [rows, column]
        node.output[0] = product
        add_node(fixed.graph, node, "Reshape", [vector, f"{column}.shape"], column)
        add_node(fixed.graph, node, "Reshape", [product, f"{result}.shape"], result, behind=True)
        found += 1
    return found


def _is_rows_by_vector(equation: str) -> bool:
    """Whether it is `bd,bkd->bk`, by whatever letters."""
    sources, _, result = equation.replace(" ", "").partition("->")
    vector, _, rows = sources.partition(",")
    return len(set(rows)) == len(rows) == 3 and (vector, result) == (rows[::2], rows[:2])


def _moves(fixed: FixedGraph) -> int:
    """Move axes that stay neighbours as one, and none of one element, between reshapes."""
    found = 0
    for node in fixed.nodes("Transpose"):
        (source,), (result,) = node.input, node.output
        shape, order = fixed.shapes.get(source), attribute_of(node, "perm")
        if shape is None or order is None or not _is_inner(fixed, source, result):
            continue
        groups = _neighbours([axis for axis in order.ints if shape[axis] > 1], shape)
        if len(shape) < MANY_AXES or not 0 < len(groups) < len(shape):
            continue
        _move_groups(fixed, node, groups, shape)
        found += 1
    return found


def _move_groups(
    fixed: FixedGraph, node: Any, groups: Sequence[tuple[int, ...]], shape: Sequence[int]
) -> None:
    """Let the reshape before join these axes, the node move them, those behind part them."""
    (source,), (result,) = node.input, node.output
    before, behind, old = fixed.made_by(source), fixed.taken_by(result), sorted(groups)
    sizes = np.array([np.prod([shape[axis] for axis in group]) for group in old], dtype=np.int64)
    before.input[1] = add_values(fixed.graph, f"{source}.joined.shape", sizes)
    before.output[0] = node.input[0] = f"{source}.joined"
    attribute_of(node, "perm").ints[:] = [old.index(group) for group in groups]
    node.output[0] = f"{result}.joined"
    for taker in behind:
        taker.input[0] = f"{result}.joined"


def _is_inner(fixed: FixedGraph, source: str, result: str) -> bool:
    """Whether a reshape makes the source for one taker, and reshapes alone take the result."""
    maker, takers = fixed.made_by(source), fixed.taken_by(result)
    if maker is None or not takers or len(fixed.taken_by(source)) > 1:
        return False
    if not {source, result}.isdisjoint(value.name for value in fixed.graph.output):
        return False
    # A zero in a reshape's target would copy a size of what is no longer there.
    targets = [fixed.constant(node.input[1]) for node in takers if node.op_type == "Reshape"]
    told = [target for target in targets if target is not None and target.all()]
    return maker.op_type == "Reshape" and len(told) == len(takers)


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


def _affine(fixed: FixedGraph) -> int:
    """Make a product and a sum of a batch normalisation, whose statistics are constants."""
    found = 0
    for node in fixed.nodes("BatchNormalization"):
        source, *names = node.input
        numbers = [each for name in names if (each := fixed.constant(name)) is not None]
        shape, (result,) = fixed.shapes.get(source), node.output
        if shape is None or len(numbers) < len(names):
            continue
        scale, bias, mean, variance = numbers
        factor = scale / np.sqrt(variance + np.float32(attribute_of(node, "epsilon").f))
        column = (-1, *[1] * (len(shape) - 2))
        for name, values in {"factor": factor, "addend": bias - mean * factor}.items():
            add_values(fixed.graph, f"{result}.{name}", values.reshape(column))
        node.op_type = "Mul"
        del node.attribute[:]
        node.input[:] = [source, f"{result}.factor"]
        node.output[0] = f"{result}.product"
        addends = [f"{result}.product", f"{result}.addend"]
        add_node(fixed.graph, node, "Add", addends, result, behind=True)
        found += 1
    return found


def _counts(fixed: FixedGraph) -> int:
    """Ask of a count whether it is below a half instead of below 1."""
    found = 0
    for node in fixed.nodes("Less"):
        limit = fixed.constant(node.input[1])
        if limit is None or limit.dtype != np.float32 or not (limit == 1).all():
            continue
        if _is_count(fixed, node.input[0]):
            half = np.full_like(limit, 0.5)
            node.input[1] = add_values(fixed.graph, f"{node.output[0]}.half", half)
            found += 1
    return found


def _is_count(fixed: FixedGraph, name: str) -> bool:
    """Whether the value says how many of some truth values are true."""
    for kind in ("ReduceSum", "Cast"):
        node = fixed.made_by(name)
        if node is None or node.op_type != kind:
            return False
        name = node.input[0]
    return name in fixed.truths


def _reciprocals(fixed: FixedGraph) -> int:
    """Make quotients of reciprocals."""
    found = fixed.nodes("Reciprocal")
    for node in found:
        one = add_values(fixed.graph, f"{node.output[0]}.one", np.array(1.0, dtype=np.float32))
        node.op_type = "Div"
        node.input[:] = [one, node.input[0]]
    return len(found)


REWRITES: Mapping[str, Rewrite] = {
    "Pow(x, 2) as Mul(x, x): else plugin and compiler fail on a fused RMS norm": _squares,
    "addends before LayerNormalization repeated for each sample: "
    "else the compiler normalises only the first sample rightly": _addends,
    "GatherND of every element as Reshape: the plugin has none on truth values": _masks,
    "Tanh(x) of products as -Tanh(-x): else the compiler fuses both and is off by 3 %": _tangents,
    "Einsum bd,bkd->bk as MatMul: the plugin has none": _rows_by_vectors,
    f"Transpose of {MANY_AXES} or more axes with neighbours as one: the HTP has no more, "
    "and its compiler fails behind some slices": _moves,
}
"""What is rewritten and why."""
QUANTIZED_REWRITES: Mapping[str, Rewrite] = {
    **REWRITES,
    "BatchNormalization as Mul and Add: the plugin has none of these ranges": _affine,
    "counts below 1 as below 0.5: a quantised 1 may fall below 1": _counts,
    "Reciprocal(x) as 1 / x: in fixed point the HTP errs where x stays below 1": _reciprocals,
}
"""The same before a graph is quantised."""
