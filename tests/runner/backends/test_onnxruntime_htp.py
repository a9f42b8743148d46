"""Rewrites for the HTP: they compute the same, and the simulator then computes it too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.shape_inference
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from runner.agreement import relative
from runner.backends.onnxruntime_device import CPU
from runner.backends.onnxruntime_htp import REWRITES, write_for_htp
from runner.backends.onnxruntime_options import session_options
from runner.backends.onnxruntime_qnn import QNN, qnn_device
from runner.backends.onnxruntime_sessions import nodes_of, open_session
from tests.onnx_graphs import FLOAT, model_of

BATCH, LENGTH, WIDTH = 2, 32, 32
SQUARES, ADDENDS, MASKS = REWRITES
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


def rewritten(model: onnx.ModelProto, folder: Path) -> tuple[list[str], Path]:
    source, written = folder / "source.onnx", folder / "written.onnx"
    onnx.save_model(model, source)
    return write_for_htp(source, written, {"n": BATCH}), written


def on_cpu(model: bytes | Path, x: Array) -> Array:
    session = onnxruntime.InferenceSession(model, session_options(1), providers=[CPU])
    result: Array = session.run(None, {"x": x})[0]
    return result


def on_htp(model: Path, x: Array) -> tuple[Array, set[str]]:
    device = qnn_device()
    session = open_session(model, device, lambda fallback: session_options(1, fallback=fallback))
    return session.run(None, {"x": x})[0], set(nodes_of([session]))


@pytest.mark.parametrize(("model", "words"), [(rms_norm(), SQUARES), (with_positions(), ADDENDS)])
def test_norms_are_rewritten_and_computed_rightly(
    model: onnx.ModelProto, words: str, tmp_path: Path
) -> None:
    told, written = rewritten(model, tmp_path)
    assert told == [words]
    expected = on_cpu(model.SerializeToString(), X)
    assert relative(on_cpu(written, X), expected) < 1e-6
    found, providers = on_htp(written, X)
    assert providers == {QNN}
    assert max(relative(*pair) for pair in zip(found, expected, strict=True)) < 1e-2


def test_a_mask_that_takes_every_element_in_its_place_is_reshaped(tmp_path: Path) -> None:
    model = mask(range(LENGTH))
    truth = RANDOM.integers(0, 2, (BATCH, LENGTH))
    told, written = rewritten(model, tmp_path)
    assert told == [MASKS]
    expected = on_cpu(model.SerializeToString(), truth)
    assert expected.shape == (BATCH, 1, 1, LENGTH)
    assert (on_cpu(written, truth) == expected).all()


def test_a_mask_in_another_order_stays(tmp_path: Path) -> None:
    told, written = rewritten(mask(range(LENGTH)[::-1]), tmp_path)
    assert told == []
    assert "GatherND" in {node.op_type for node in onnx.load(written).graph.node}


def test_powers_other_than_squares_and_norms_of_one_sample_stay(tmp_path: Path) -> None:
    cube = helper.make_node("Pow", ["x", "three"], ["y"])
    three = {"three": np.array(3, dtype=np.float32)}
    assert rewritten(graph_of([cube], three), tmp_path)[0] == []
    source = tmp_path / "positions.onnx"
    onnx.save_model(with_positions(), source)
    assert write_for_htp(source, tmp_path / "one.onnx", {"n": 1}) == []
