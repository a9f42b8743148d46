"""Writes a graph anew for the HTP: of fixed sizes, without what its compiler gets wrong.

Seen with onnxruntime-qnn 2.7.0, QNN 2.51, on the simulator; each rewrite keeps what is computed.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from runner.backends.onnxruntime_device import cpu_device
from runner.backends.onnxruntime_options import Sizes, session_options
from runner.backends.onnxruntime_sessions import open_session
from runner.errors import Unavailable

SQUARES = "Pow(x, 2) as Mul(x, x): plugin and compiler fail on the RMS norm that they make of it"
ADDENDS = (
    "constants that are added before a LayerNormalization repeated for each sample: "
    "the compiler normalises all samples but the first wrongly"
)
WEIGHTS_FILE = "session.optimized_model_external_initializers_file_name"

Constants = Mapping[str, npt.NDArray[Any]]


def write_for_htp(model: Path, written: Path, sizes: Sizes) -> list[str]:
    """Write the graph of that file for these sizes; what was rewritten, in words.

    Raises:
        Unavailable: the package onnx is not installed.
    """
    onnx = _onnx()
    _fix(model, written, sizes)
    proto = onnx.shape_inference.infer_shapes(onnx.load(written))
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in proto.graph.initializer}
    rewrites = [
        words
        for words, count in (
            (SQUARES, _squares(proto.graph, constants)),
            (ADDENDS, _addends(onnx, proto.graph, constants)),
        )
        if count
    ]
    for path in written.parent.glob(f"{written.name}*"):
        path.unlink()
    onnx.save_model(proto, written, save_as_external_data=True, location=f"{written.name}.data")
    return rewrites


def _fix(model: Path, written: Path, sizes: Sizes) -> None:
    """Let ONNX Runtime fold what no longer varies."""
    options = session_options(1, sizes=sizes, entries={WEIGHTS_FILE: f"{written.name}.data"})
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(written)
    open_session(model, cpu_device(), lambda _: options)


def _squares(graph: Any, constants: Constants) -> int:
    """How many squares were made products."""
    squares = [
        node
        for node in graph.node
        if node.op_type == "Pow" and np.array_equal(constants.get(node.input[1], 0), 2.0)
    ]
    for node in squares:
        node.op_type = "Mul"
        node.input[1] = node.input[0]
    return len(squares)


def _addends(onnx: Any, graph: Any, constants: Constants) -> int:
    """How many constants were repeated."""
    normalised = {node.input[0] for node in graph.node if node.op_type == "LayerNormalization"}
    shapes = {value.name: _shape(value) for value in graph.value_info}
    found = 0
    for node in graph.node:
        result = node.output[0]
        if node.op_type != "Add" or result not in normalised or result not in shapes:
            continue
        for place, name in _narrow(node, constants, shapes[result]):
            full = np.ascontiguousarray(np.broadcast_to(constants[name], shapes[result]))
            graph.initializer.append(onnx.numpy_helper.from_array(full, f"{result}.addend"))
            node.input[place] = f"{result}.addend"
            found += 1
    return found


def _narrow(node: Any, constants: Constants, shape: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    """The node's constants that have one matrix for all samples."""
    for place, name in enumerate(node.input):
        constant = constants.get(name)
        if constant is not None and constant.ndim > 1 and constant.shape != shape:
            yield place, name


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(size.dim_value for size in value.type.tensor_type.shape.dim)


def _onnx() -> Any:
    try:
        for module in ("numpy_helper", "shape_inference"):
            import_module(f"onnx.{module}")
        return import_module("onnx")
    except ImportError as error:
        raise Unavailable("the package onnx is not installed here") from error
