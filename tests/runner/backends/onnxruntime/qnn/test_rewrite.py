"""A graph for the HTP has fixed sizes, and says what was rewritten."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from runner.backends.onnxruntime.device import CPU
from runner.backends.onnxruntime.qnn.rewrite import write_for_htp
from runner.backends.onnxruntime.qnn.rewrites import FixedGraph
from tests.support.onnx_graphs import FLOAT, WIDTH, layer, model_of

ROWS = 3
X = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)


def shapes_of(path: Path) -> list[list[int]]:
    graph = onnx.load(path).graph
    return [
        [size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    ]


def test_sizes_are_fixed_and_the_numbers_stay(tmp_path: Path) -> None:
    source, written = tmp_path / "source.onnx", tmp_path / "written.onnx"
    onnx.save_model(layer(), source)
    assert write_for_htp(source, written, {"n": ROWS}) == []
    assert shapes_of(written) == [[ROWS, WIDTH], [ROWS, WIDTH]]
    found = [
        onnxruntime.InferenceSession(path, providers=[CPU]).run(None, {"x": X})[0]
        for path in (source, written)
    ]
    np.testing.assert_array_equal(*found)


def test_what_no_longer_varies_becomes_constant(tmp_path: Path) -> None:
    source, written = tmp_path / "source.onnx", tmp_path / "written.onnx"
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Cast", ["sizes"], ["numbers"], to=FLOAT),
        helper.make_node("ReduceSum", ["numbers"], ["sum"]),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, FLOAT, ("n", WIDTH)) for name in "xy")
    onnx.save_model(model_of(helper.make_graph(nodes, "sizes", [x], [y])), source)
    write_for_htp(source, written, {"n": ROWS})
    graph = onnx.load(written).graph
    assert [node.op_type for node in graph.node] == ["Mul"]
    (total,) = graph.initializer
    assert numpy_helper.to_array(total).item() == ROWS + WIDTH


def test_only_what_applies_is_told(tmp_path: Path) -> None:
    source, written = tmp_path / "source.onnx", tmp_path / "written.onnx"
    onnx.save_model(layer(), source)
    seen: list[FixedGraph] = []

    def applies(fixed: FixedGraph) -> int:
        seen.append(fixed)
        return 2

    def does_not(fixed: FixedGraph) -> int:
        return len(fixed.truths)

    words = write_for_htp(source, written, {"n": ROWS}, {"this": applies, "that": does_not})
    assert words == ["this"]
    assert [seen[0].shapes[name] for name in ("x", "logits")] == [(ROWS, WIDTH)] * 2
    assert [node.op_type for node in seen[0].taken_by("x")] == ["MatMul"]
