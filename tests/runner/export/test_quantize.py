"""Quantised files: by calibration for the HTP, dynamically for the CPU, with masks in range."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.shape_inference
import pytest
from onnx import TensorProto, helper, numpy_helper

from runner.backends.onnxruntime.qnn.htp import QNN, qnn_device
from runner.backends.onnxruntime.sessions import create_session, nodes_of, session_options
from runner.contract.errors import Unsupported
from runner.correctness.differences import relative_difference
from runner.export.check import evaluator
from runner.export.quantize import (
    bound_masks,
    integer_products,
    quantize_by_calibration,
    quantize_dynamically,
)
from tests.support.onnx_graphs import FLOAT, layer, model_of, square
from tests.support.onnx_graphs import WIDTH as GRAPH_WIDTH
from tests.support.words import raises_words

BATCH, LENGTH, WIDTH = 2, 32, 32
RANDOM = np.random.default_rng(0)
SMALL = 0.02
"""A layer's values where weights are as transformers draws them: roots stay far below 1."""
ROUNDING = 0.1
"""The error of 8-bit weights and of values beyond the ranges; the HTP's faults make half."""
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


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (RMS, ["Pow(x, 2) as ", "Reciprocal(x) as "]),
        (POSITIONS, ["addends before "]),
        (NEWLINES, ["Transpose of 5 or more axes "]),
    ],
)
def test_quantised_graphs_compute_the_same(
    nodes: tuple[onnx.NodeProto, ...], words: list[str], tmp_path: Path
) -> None:
    source, target = tmp_path / "plain.onnx", tmp_path / "qdq.onnx"
    onnx.save_model(product_of(*nodes), source)
    ranges, *rewrites = quantize_by_calibration([(source, target)], QUERIES).split("; ")
    assert ranges.startswith("QDQ: uint8 weights, uint16 activations, in 1 of 1 products, ")
    assert [reported[: len(word)] for reported, word in zip(rewrites, words, strict=True)] == words
    expected = evaluator(source)({"x": X})["y"]
    assert relative_difference(evaluator(target)({"x": X})["y"], expected) < ROUNDING
    session = create_session(
        target, qnn_device(), lambda fallback: session_options(1, fallback=fallback)
    )
    ours = session.run(None, {"x": X})[0]
    assert nodes_of([session]).keys() == {QNN}
    assert max(relative_difference(*pair) for pair in zip(ours, expected, strict=True)) < ROUNDING


Files = tuple[Path, Path]


def without_weights(kind: str) -> onnx.ModelProto:
    """That operator over the input twice: nothing in it is a weight."""
    node = helper.make_node(kind, ["x", "x"], ["logits"])
    return model_of(helper.make_graph([node], "g", [square("x")], [square("logits")]))


def in_a_branch() -> onnx.ModelProto:
    """A product inside of a branch."""
    inner = without_weights("MatMul").graph
    del inner.input[:]
    same = helper.make_node("Identity", ["x"], ["same"])
    otherwise = helper.make_graph([same], "otherwise", [], [square("same")])
    branch = helper.make_node("If", ["c"], ["result"], then_branch=inner, else_branch=otherwise)
    truth = helper.make_tensor_value_info("c", TensorProto.BOOL, ())
    return model_of(helper.make_graph([branch], "g", [square("x"), truth], [square("result")]))


def mixed() -> onnx.ModelProto:
    model = layer(rows=GRAPH_WIDTH, result="hidden")
    model.graph.node.append(helper.make_node("MatMul", ["hidden", "hidden"], ["logits"]))
    model.graph.output[0].name = "logits"
    return model


def files(folder: Path, model: onnx.ModelProto, name: str = "forward") -> Files:
    source = folder / f"{name}.onnx"
    onnx.save_model(model, source)
    return source, folder / f"{name}-int8.onnx"


@pytest.mark.parametrize(
    ("models", "counts"),
    [
        ([mixed()], "in 1 of 2 products"),
        ([mixed(), layer()], "in 2 of 3 products"),
        ([without_weights("Add"), layer()], "in 1 of 1 products"),
    ],
)
def test_products_with_weights_are_counted_over_all_parts(
    models: list[onnx.ModelProto], counts: str, tmp_path: Path
) -> None:
    parts = [files(tmp_path, model, f"part{number}") for number, model in enumerate(models)]
    assert quantize_dynamically(parts, signed=True).endswith(counts)


def test_a_file_that_stays_fp32_is_refused(tmp_path: Path) -> None:
    parts = [files(tmp_path, layer()), files(tmp_path, without_weights("MatMul"), "decode")]
    with raises_words(Unsupported, match=r"decode.onnx would not become int8: of its 1 products"):
        quantize_dynamically(parts, signed=True)
    with raises_words(Unsupported, match="it has no product to quantise"):
        quantize_dynamically([files(tmp_path, without_weights("Add"))], signed=True)
    source, target = files(tmp_path, in_a_branch())
    onnx.save_model(layer(), target)
    with raises_words(Unsupported, match="of its 1 products"):
        integer_products(source, target, ["MatMul"])


LEAST = float(np.finfo(np.float32).min)
SCORES = np.array([[3.0, -2.0, 7.0]], dtype=np.float32)


def masked(folder: Path, *, node: bool) -> Path:
    """A softmax over scores of which the last is masked, by a constant node or an initializer."""
    mask = helper.make_tensor("mask", FLOAT, (1, 3), [0.0, 0.0, LEAST])
    constant = [helper.make_node("Constant", [], ["mask"], value=mask)] if node else []
    graph = helper.make_graph(
        [
            *constant,
            helper.make_node("Add", ["scores", "mask"], ["sum"]),
            helper.make_node("Softmax", ["sum"], ["shares"]),
        ],
        "masked",
        [helper.make_tensor_value_info("scores", FLOAT, (1, 3))],
        [helper.make_tensor_value_info("shares", FLOAT, (1, 3))],
        [] if node else [mask],
    )
    onnx.save_model(model_of(graph), folder / "masked.onnx")
    return folder / "masked.onnx"


def mask_of(path: Path) -> list[float]:
    graph = onnx.load_model(path).graph
    constants = [node.attribute[0].t for node in graph.node if node.op_type == "Constant"]
    values: list[float] = (
        numpy_helper.to_array([*graph.initializer, *constants][0]).ravel().tolist()
    )
    return values


@pytest.mark.parametrize("node", [False, True])
def test_what_means_minus_infinity_becomes_moderate_and_masks_all_the_same(
    tmp_path: Path, node: bool
) -> None:
    path = masked(tmp_path, node=node)
    before = evaluator(path)({"scores": SCORES})["shares"]
    assert mask_of(path)[2] == LEAST
    bound_masks(path)
    assert mask_of(path) == [0, 0, -100]
    after = evaluator(path)({"scores": SCORES})["shares"]
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-30)
