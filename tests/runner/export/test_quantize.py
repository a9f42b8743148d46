"""Files with ranges for the HTP: quantised after the rewrites, so that it computes them rightly."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.shape_inference
import pytest
from onnx import helper, numpy_helper

from runner.agreement import relative
from runner.backends.onnxruntime_options import session_options
from runner.backends.onnxruntime_qnn import QNN, qnn_device
from runner.backends.onnxruntime_sessions import nodes_of, open_session
from runner.export.onnx_check import answering
from runner.export.quantize import by_calibration
from tests.onnx_graphs import FLOAT, model_of

BATCH, LENGTH, WIDTH = 2, 32, 32
RANDOM = np.random.default_rng(0)
SMALL = 0.02
"""A layer's values where weights are as transformers draws them: roots stay far below 1."""
ROUNDING = 0.1
"""What weights of 8 bits and values beyond the ranges make of it; the HTP's faults make half."""
Array = npt.NDArray[np.float32]


def drawn(*shape: int) -> Array:
    return (SMALL * RANDOM.standard_normal(shape)).astype(np.float32)


QUERIES = [{"x": drawn(BATCH, LENGTH, WIDTH)} for _ in range(8)]
X = drawn(BATCH, LENGTH, WIDTH)
RMS = (
    helper.make_node("Pow", ["x", "two"], ["squares"]),
    helper.make_node("ReduceMean", ["squares", "axes"], ["mean"]),
    helper.make_node("Sqrt", ["mean"], ["root"]),
    helper.make_node("Reciprocal", ["root"], ["scale"]),
    helper.make_node("Mul", ["x", "scale"], ["normal"]),
)
POSITIONS = (
    helper.make_node("Add", ["x", "positions"], ["embedded"]),
    helper.make_node("LayerNormalization", ["embedded", "ones"], ["normal"]),
)
NEWLINES = (
    helper.make_node("Mul", ["x", "two"], ["doubled"]),
    helper.make_node("Slice", ["doubled", "zero", "one", "zero"], ["first"]),
    helper.make_node("Reshape", ["first", "crops"], ["apart"]),
    helper.make_node("Transpose", ["apart"], ["moved"], perm=[4, 0, 2, 1, 3]),
    helper.make_node("Reshape", ["moved", "image"], ["rows"]),
    helper.make_node("Concat", ["rows", "newline"], ["ended"], axis=-1),
    helper.make_node("Reshape", ["ended", "flat"], ["normal"]),
)
"""LLaVA's image of crops, each row of which is ended by a parameter."""


def product_of(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """A product of weights and what these nodes leave as `normal`."""
    x = helper.make_tensor_value_info("x", FLOAT, (BATCH, LENGTH, WIDTH))
    y = helper.make_tensor_value_info("y", FLOAT, None)
    constants = {
        "two": np.array(2, dtype=np.float32),
        "axes": np.array([-1]),
        "positions": drawn(1, LENGTH, WIDTH),
        "ones": np.ones(WIDTH, dtype=np.float32),
        "zero": np.array([0]),
        "one": np.array([1]),
        "crops": np.array([1, 1, 4, 8, WIDTH]),
        "image": np.array([WIDTH, 4, 8]),
        "newline": drawn(WIDTH, 4, 1),
        "flat": np.array([-1, WIDTH]),
        "w": drawn(WIDTH, WIDTH),
    }
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    product = helper.make_node("MatMul", ["normal", "w"], ["y"])
    graph = helper.make_graph([*nodes, product], "graph", [x], [y], tensors)
    return onnx.shape_inference.infer_shapes(model_of(graph))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (RMS, ["Pow(x, 2) as ", "Reciprocal(x) as "]),
        (POSITIONS, ["addends before "]),
        (NEWLINES, ["Transpose of 5 or more axes "]),
    ],
)
def test_what_is_quantised_is_computed_rightly(
    nodes: tuple[onnx.NodeProto, ...], words: list[str], tmp_path: Path
) -> None:
    source, target = tmp_path / "plain.onnx", tmp_path / "qdq.onnx"
    onnx.save_model(product_of(*nodes), source)
    ranges, *rewrites = by_calibration([(source, target)], QUERIES).split("; ")
    assert ranges.startswith("QDQ: uint8 weights, uint16 activations, in 1 of 1 products, ")
    assert [told[: len(word)] for told, word in zip(rewrites, words, strict=True)] == words
    expected = answering(source)({"x": X})["y"]
    assert relative(answering(target)({"x": X})["y"], expected) < ROUNDING
    session = open_session(
        target, qnn_device(), lambda fallback: session_options(1, fallback=fallback)
    )
    found = session.run(None, {"x": X})[0]
    assert nodes_of([session]).keys() == {QNN}
    assert max(relative(*pair) for pair in zip(found, expected, strict=True)) < ROUNDING


def test_a_clipping_activation_stays_a_node_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "plain.onnx", tmp_path / "qdq.onnx"
    onnx.save_model(product_of(helper.make_node("Relu", ["x"], ["normal"])), source)
    by_calibration([(source, target)], QUERIES)
    assert "Relu" in {node.op_type for node in onnx.load(target).graph.node}
