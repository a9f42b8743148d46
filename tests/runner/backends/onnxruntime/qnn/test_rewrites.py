"""Rewrites for the HTP: they compute the same, and the simulator then computes it too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.shape_inference
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from runner.backends.onnxruntime.device import CPU
from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, write_fixed
from runner.backends.onnxruntime.qnn.htp import QNN, qnn_device
from runner.backends.onnxruntime.qnn.rewrites import (
    QUANTIZED_REWRITES,
    REWRITES,
    Rewrite,
    write_for_htp,
)
from runner.backends.onnxruntime.sessions import create_session, nodes_of, session_options
from runner.correctness.differences import relative_difference
from tests.support.onnx_graphs import FLOAT, layer, model_of
from tests.support.onnx_graphs import WIDTH as GRAPH_WIDTH

BATCH, LENGTH, WIDTH = 2, 32, 32
(SQUARES, ADDENDS, MASKS, TANGENTS, SIGMOIDS, EINSUM, HEADS, MOVES, NORMS, COUNTS, RECIPROCALS) = (
    QUANTIZED_REWRITES
)
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
Array = npt.NDArray[Any]


def graph_of(
    nodes: Sequence[onnx.NodeProto], constants: dict[str, Array], kind: int = FLOAT
) -> onnx.ModelProto:
    """From `x`, whose batch is symbolic, to `y`."""
    shape = ("n", LENGTH, WIDTH) if kind == FLOAT else ("n", LENGTH)
    x = helper.make_tensor_value_info("x", kind, shape)
    y = helper.make_tensor_value_info("y", kind, None)
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    model = model_of(helper.make_graph(nodes, "graph", [x], [y], tensors))
    return onnx.shape_inference.infer_shapes(model)  # exporters leave shapes in their files


def rms_norm() -> onnx.ModelProto:
    """Qwen's and Llama's normalisation, as the exporter writes it."""
    nodes = [
        helper.make_node("Pow", ["x", "two"], ["squares"]),
        helper.make_node("ReduceMean", ["squares", "axes"], ["mean"]),
        helper.make_node("Add", ["mean", "epsilon"], ["positive"]),
        helper.make_node("Sqrt", ["positive"], ["root"]),
        helper.make_node("Reciprocal", ["root"], ["scale"]),
        helper.make_node("Mul", ["x", "scale"], ["normal"]),
        helper.make_node("Mul", ["weight", "normal"], ["y"]),
    ]
    constants = {
        "two": np.array(2, dtype=np.float32),
        "axes": np.array([-1]),
        "epsilon": np.array(1e-5, dtype=np.float32),
        "weight": np.ones(WIDTH, dtype=np.float32),
    }
    return graph_of(nodes, constants)


def with_positions() -> onnx.ModelProto:
    """The embeddings of BERT: positions are the same for all samples."""
    nodes = [
        helper.make_node("Add", ["x", "positions"], ["embedded"]),
        helper.make_node("LayerNormalization", ["embedded", "weight", "bias"], ["y"]),
    ]
    constants = {
        "positions": RANDOM.standard_normal((1, LENGTH, WIDTH)).astype(np.float32),
        "weight": np.ones(WIDTH, dtype=np.float32),
        "bias": np.zeros(WIDTH, dtype=np.float32),
    }
    return graph_of(nodes, constants)


def pooler(*between: onnx.NodeProto, bend: str = "Tanh") -> onnx.ModelProto:
    """BERT's and CLAP's, with small results: Tanh of a product, or of what lies in between."""
    last = between[-1].output[0] if between else "product"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        *between,
        helper.make_node(bend, [last], ["y"]),
    ]
    constants = {
        "w": (0.02 * RANDOM.standard_normal((WIDTH, WIDTH))).astype(np.float32),
        "bias": np.full(WIDTH, 0.01, dtype=np.float32),
        "shape": np.array([BATCH, LENGTH * WIDTH]),
    }
    return graph_of(nodes, constants)


def rows_by_vectors(equation: str) -> onnx.ModelProto:
    """X-CLIP's logits: each sample's rows by a vector of its own."""
    nodes = [
        helper.make_node("ReduceMean", ["x", "axes"], ["vector"], keepdims=0),
        helper.make_node("Einsum", ["vector", "x"], ["y"], equation=equation),
    ]
    return graph_of(nodes, {"axes": np.array([1])})


def windows(order: Sequence[int], target: Sequence[int] = (-1, WIDTH)) -> onnx.ModelProto:
    """Swin's windows: six axes, of which some stay neighbours, moved between reshapes."""
    nodes = [
        helper.make_node("Reshape", ["x", "six"], ["apart"]),
        helper.make_node("Transpose", ["apart"], ["moved"], perm=order),
        helper.make_node("Reshape", ["moved", "target"], ["y"]),
    ]
    constants = {"six": np.array([BATCH, 4, 8, 1, 4, 8]), "target": np.array(target)}
    return graph_of(nodes, constants)


def batch_norm() -> onnx.ModelProto:
    """CLAP's, before its patches."""
    names = ("scale", "bias", "mean", "variance")
    numbers = 1 + RANDOM.random((4, LENGTH)).astype(np.float32)
    node = helper.make_node("BatchNormalization", ["x", *names], ["y"], epsilon=1e-3)
    return graph_of([node], dict(zip(names, numbers, strict=True)))


def attention(tokens: int = BATCH) -> onnx.ModelProto:
    """X-CLIP's over its prompts: heads of `x`, joined and multiplied; two heads for two samples."""
    width = BATCH * WIDTH
    nodes = [
        helper.make_node("Slice", ["x", "start", "end", "axis"], ["first"]),
        helper.make_node("Reshape", ["first", "apart"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "values"], ["heads"]),
        helper.make_node("Transpose", ["heads"], ["moved"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["moved", "together"], ["joined"]),
        helper.make_node("MatMul", ["joined", "w"], ["y"]),
    ]
    constants = {
        "start": np.array([0]),
        "end": np.array([BATCH * tokens]),
        "axis": np.array([1]),
        "apart": np.array([BATCH, BATCH, tokens, WIDTH]),
        "values": RANDOM.standard_normal((BATCH, BATCH, WIDTH, WIDTH)).astype(np.float32),
        "together": np.array([BATCH, tokens, width]),
        "w": (RANDOM.standard_normal((width, width)) / 8).astype(np.float32),
    }
    return graph_of(nodes, constants)


def mask(order: Sequence[int]) -> onnx.ModelProto:
    """A mask's elements in that order of places, as truth values between casts."""
    places = np.stack(np.meshgrid(range(BATCH), order, indexing="ij"), axis=-1)
    nodes = [
        helper.make_node("Cast", ["x"], ["truth"], to=TensorProto.BOOL),
        helper.make_node("GatherND", ["truth", "places"], ["taken"], batch_dims=0),
        helper.make_node("Cast", ["taken"], ["y"], to=TensorProto.INT64),
    ]
    constants = {"places": places[:, None, None].astype(np.int64)}
    return graph_of(nodes, constants, TensorProto.INT64)


def rewritten(
    model: onnx.ModelProto, folder: Path, rewrites: Mapping[str, Rewrite] = REWRITES
) -> tuple[list[str], Path]:
    source, written = folder / "source.onnx", folder / "written.onnx"
    onnx.save_model(model, source)
    return write_for_htp(source, written, {"n": BATCH}, rewrites), written


def on_cpu(model: bytes | Path, x: Array) -> Array:
    session = onnxruntime.InferenceSession(model, session_options(1), providers=[CPU])
    result: Array = session.run(None, {"x": x})[0]
    return result


def on_htp(model: Path, x: Array) -> tuple[Array, set[str]]:
    device = qnn_device()
    session = create_session(model, device, lambda fallback: session_options(1, fallback=fallback))
    return session.run(None, {"x": x})[0], set(nodes_of([session]))


BIAS = helper.make_node("Add", ["product", "bias"], ["sum"])
RESHAPE = helper.make_node("Reshape", ["product", "shape"], ["flat"])


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (rms_norm(), SQUARES),
        (with_positions(), ADDENDS),
        (pooler(), TANGENTS),
        (pooler(BIAS), TANGENTS),
        (pooler(RESHAPE), TANGENTS),
        (pooler(bend="Sigmoid"), SIGMOIDS),
        (pooler(BIAS, bend="Sigmoid"), SIGMOIDS),
        (rows_by_vectors("bd,bkd->bk"), EINSUM),
        (rows_by_vectors("n z, n q z -> n q"), EINSUM),
        (attention(), HEADS),
        (windows((0, 1, 4, 2, 3, 5)), MOVES),
        (windows((5, 0, 3, 1, 2, 4)), MOVES),
    ],
)
def test_rewritten_graphs_compute_the_same(
    model: onnx.ModelProto, words: str, tmp_path: Path
) -> None:
    applied, written = rewritten(model, tmp_path)
    assert applied == [words]
    expected = on_cpu(model.SerializeToString(), X)
    assert relative_difference(on_cpu(written, X), expected) < 1e-6
    outcome, providers = on_htp(written, X)
    assert providers == {QNN}
    assert max(relative_difference(*pair) for pair in zip(outcome, expected, strict=True)) < 1e-2


@pytest.mark.parametrize(
    ("model", "words", "gone"),
    [
        (rms_norm(), [SQUARES, RECIPROCALS], "Reciprocal"),
        (batch_norm(), [NORMS], "BatchNormalization"),
    ],
)
def test_more_is_rewritten_where_numbers_are_quantised(
    model: onnx.ModelProto, words: list[str], gone: str, tmp_path: Path
) -> None:
    applied, written = rewritten(model, tmp_path, QUANTIZED_REWRITES)
    assert applied == words
    assert gone not in {node.op_type for node in onnx.load(written).graph.node}
    assert relative_difference(on_cpu(written, X), on_cpu(model.SerializeToString(), X)) < 1e-6


def reversed_windows() -> onnx.ModelProto:
    """All six axes moved, none of one element."""
    model = windows((5, 4, 3, 2, 1, 0))
    sizes = numpy_helper.from_array(np.array([2, 2, 2, 8, 4, 8]), "six")
    model.graph.initializer[0].CopyFrom(sizes)
    return model


def cube() -> onnx.ModelProto:
    node = helper.make_node("Pow", ["x", "three"], ["y"])
    return graph_of([node], {"three": np.array(3, dtype=np.float32)})


@pytest.mark.parametrize(
    "model",
    [
        pooler(helper.make_node("Sin", ["product"], ["sine"])),
        pooler(helper.make_node("Sin", ["product"], ["sine"]), bend="Sigmoid"),
        pooler(helper.make_node("Add", ["product", "x"], ["total"])),
        rows_by_vectors("bd,bkd->kb"),
        rows_by_vectors("bd,bkd->bkd"),
        rows_by_vectors("bd,bkd->bd"),
        windows((0, 1, 4, 2, 3, 5), (0, 4, -1)),
        attention(tokens=3),
        reversed_windows(),
        cube(),
        mask(range(LENGTH)[::-1]),
        batch_norm(),
    ],
    ids=[
        "tangent of a sine",
        "sigmoid of a sine",
        "tangent of a sum",
        *("sums of other products",) * 3,
        "a size copied from a transpose's result",
        "more tokens than heads",
        "a transpose that moves every axis",
        "another power than a square",
        "a mask in another order",
        "a batch norm that is not quantised",
    ],
)
def test_other_graphs_stay(model: onnx.ModelProto, tmp_path: Path) -> None:
    applied, written = rewritten(model, tmp_path)
    assert applied == []
    kinds = [[node.op_type for node in one.graph.node] for one in (model, onnx.load(written))]
    assert kinds[0] == kinds[1]


ROWS = 3
ROWS_X = np.random.default_rng(0).standard_normal((ROWS, GRAPH_WIDTH)).astype(np.float32)


def test_sizes_are_fixed_and_the_numbers_stay(tmp_path: Path) -> None:
    source, written = tmp_path / "source.onnx", tmp_path / "written.onnx"
    onnx.save_model(layer(), source)
    assert write_for_htp(source, written, {"n": ROWS}) == []
    assert set(FixedGraph(written).shapes.values()) == {(ROWS, GRAPH_WIDTH)}
    assert FixedGraph(source).shapes["x"] is None
    before, after = (
        onnxruntime.InferenceSession(path, providers=[CPU]).run(None, {"x": ROWS_X})[0]
        for path in (source, written)
    )
    np.testing.assert_array_equal(before, after)


def test_what_no_longer_varies_becomes_constant(tmp_path: Path) -> None:
    source, written = tmp_path / "source.onnx", tmp_path / "written.onnx"
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Cast", ["sizes"], ["numbers"], to=FLOAT),
        helper.make_node("ReduceSum", ["numbers"], ["sum"]),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, FLOAT, ("n", GRAPH_WIDTH)) for name in "xy")
    onnx.save_model(model_of(helper.make_graph(nodes, "sizes", [x], [y])), source)
    write_fixed(source, written, {"n": ROWS})
    fixed = FixedGraph(written)
    assert [node.op_type for node in fixed.graph.node] == ["Mul"]
    (total,) = fixed.constants
    assert fixed.constant(total) == ROWS + GRAPH_WIDTH
