"""Graphs for the HTP: fixed sizes, and nodes and constants that rewrites look at and add."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from runner.backends.onnxruntime.device import CPU
from runner.backends.onnxruntime.qnn.fixed_graph import FixedGraph, attribute_of, write_fixed
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


def saved(model: onnx.ModelProto, folder: Path, *, beside: bool = False) -> Path:
    path = folder / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=beside, location="w.data", size_threshold=0)
    return path


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


def test_only_what_applies_is_told(source: Path, written: Path) -> None:
    def does_not(fixed: FixedGraph) -> int:
        assert [node.op_type for node in fixed.consumers("x")] == ["MatMul"]
        assert fixed.producer("logits").op_type == "Relu"
        assert fixed.producer("x") is None
        return len(fixed.booleans)

    words = write_for_htp(source, written, {"n": ROWS}, {"this": lambda _: 2, "that": does_not})
    assert words == ["this"]


@pytest.mark.parametrize("beside", [False, True])
def test_a_file_written_as_it_was_read_is_the_same_model(tmp_path: Path, beside: bool) -> None:
    path = saved(layer(), tmp_path, beside=beside)
    before = onnx.load(path)
    FixedGraph(path).save()
    assert onnx.load(path) == before


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_numbers_are_read_wherever_they_lie(tmp_path: Path, beside: bool, kind: type) -> None:
    numbers = np.arange(6).reshape(2, 3).astype(kind)
    model = layer()
    model.graph.initializer.append(numpy_helper.from_array(numbers, "t"))
    fixed = FixedGraph(saved(model, tmp_path, beside=beside))
    np.testing.assert_array_equal(fixed.constant("t"), numbers)
    assert fixed.constant("missing") is None
    assert FixedGraph(saved(layer(kind=TensorProto.FLOAT16), tmp_path)).constant("w") is None


def test_nodes_and_constants_are_added_where_they_are_computed(tmp_path: Path) -> None:
    path = saved(layer(rows=2), tmp_path)
    fixed = FixedGraph(path)
    relu = fixed.graph.node[1]
    ones = np.ones((2, WIDTH), dtype=np.float32)
    assert fixed.add_constant("ones", ones) == "ones"
    fixed.add_node(relu, "Add", ["product", "ones"], "sum")
    fixed.add_node(relu, "Neg", ["hidden"], "logits", behind=True)
    relu.input[0], relu.output[0] = "sum", "hidden"
    fixed.save()
    model = onnx.load(path)
    assert [node.op_type for node in model.graph.node] == ["MatMul", "Add", "Relu", "Neg"]
    onnx.checker.check_model(model, full_check=True)
    np.testing.assert_array_equal(numpy_helper.to_array(model.graph.initializer[-1]), ones)


def test_attributes_are_found_by_name() -> None:
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    assert list(attribute_of(node, "perm").ints) == [1, 0]
    assert attribute_of(node, "axis") is None
