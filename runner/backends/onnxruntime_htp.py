"""Writes a graph anew for the HTP: of fixed sizes, without what its compiler gets wrong.

Seen with onnxruntime-qnn 2.7.0, QNN 2.51, on the simulator; no rewrite changes what is computed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from runner.backends.onnx_file import add_values, read_model, shape_of, values_of
from runner.backends.onnxruntime_device import cpu_device
from runner.backends.onnxruntime_options import Sizes, session_options
from runner.backends.onnxruntime_sessions import open_session

WEIGHTS_FILE = "session.optimized_model_external_initializers_file_name"


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

    def constant(self, name: str) -> npt.NDArray[Any] | None:
        """The numbers of that initialiser; None if there is none, or of another kind."""
        tensor = self.constants.get(name)
        return None if tensor is None else values_of(tensor, self.folder)

    def nodes(self, kind: str) -> list[Any]:
        """The nodes of that operator."""
        return [node for node in self.graph.node if node.op_type == kind]


def write_for_htp(model: Path, written: Path, sizes: Sizes) -> list[str]:
    """Write the graph of that file for these sizes; what was rewritten, in words."""
    _fix(model, written, sizes)
    proto = read_model(written)
    graph = proto.graph
    fixed = FixedGraph(
        graph,
        written.parent,
        {each.name: each for each in graph.initializer},
        {value.name: shape_of(value) for value in (*graph.input, *graph.value_info)},
    )
    rewrites = [words for words, rewrite in REWRITES.items() if rewrite(fixed)]
    written.write_bytes(proto.SerializeToString())
    return rewrites


def _fix(model: Path, written: Path, sizes: Sizes) -> None:
    """Let ONNX Runtime fold what no longer varies."""
    options = session_options(1, sizes=sizes, entries={WEIGHTS_FILE: f"{written.name}.data"})
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(written)
    open_session(model, cpu_device(), lambda _: options)


def _squares(fixed: FixedGraph) -> int:
    """Make products of squares; how many."""
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
    """Repeat constants that are added before a normalisation; how many."""
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
    """Make reshapes of GatherNDs that take every element in its place; how many."""
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


REWRITES: Mapping[str, Callable[[FixedGraph], int]] = {
    "Pow(x, 2) as Mul(x, x): else plugin and compiler fail on a fused RMS norm": _squares,
    "addends before LayerNormalization repeated for each sample: "
    "else the compiler normalises only the first sample rightly": _addends,
    "GatherND of every element as Reshape: the plugin has none on truth values": _masks,
}
"""What is rewritten and why; each function says how often it did so."""
