"""Graphs for the HTP: fixed sizes, and nodes and constants that rewrites look at and add."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from runner.backends.onnxruntime.device import CPU
from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, write_fixed
from runner.backends.onnxruntime.qnn.rewrites import write_for_htp
from tests.support.onnx_graphs import FLOAT, WIDTH, layer, model_of

ROWS = 3
X = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.onnx"
    onnx.save_model(layer(), path)
    return path


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "written.onnx"


def test_sizes_are_fixed_and_the_numbers_stay(source: Path, written: Path) -> None:
    assert write_for_htp(source, written, {"n": ROWS}) == []
    assert set(FixedGraph(written).shapes.values()) == {(ROWS, WIDTH)}
    assert FixedGraph(source).shapes["x"] is None
    before, after = (
        onnxruntime.InferenceSession(path, providers=[CPU]).run(None, {"x": X})[0]
        for path in (source, written)
    )
    np.testing.assert_array_equal(before, after)


def test_what_no_longer_varies_becomes_constant(source: Path, written: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Cast", ["sizes"], ["numbers"], to=FLOAT),
        helper.make_node("ReduceSum", ["numbers"], ["sum"]),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, FLOAT, ("n", WIDTH)) for name in "xy")
    onnx.save_model(model_of(helper.make_graph(nodes, "sizes", [x], [y])), source)
    write_fixed(source, written, {"n": ROWS})
    fixed = FixedGraph(written)
    assert [node.op_type for node in fixed.graph.node] == ["Mul"]
    (total,) = fixed.constants
    assert fixed.constant(total) == ROWS + WIDTH
