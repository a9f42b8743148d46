"""ONNX files without the package onnx: what is not described stays as it was."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from runner.backends.onnxruntime.qnn.onnx_file import (
    add_node,
    add_values,
    attribute_of,
    read_model,
    shape_of,
    values_of,
)
from tests.support.onnx_graphs import WIDTH, layer


def saved(model: onnx.ModelProto, folder: Path, *, beside: bool = False) -> Path:
    path = folder / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=beside, location="w.data", size_threshold=0)
    return path


@pytest.mark.parametrize("beside", [False, True])
def test_a_file_that_is_written_as_it_was_read_is_the_same_model(
    tmp_path: Path, beside: bool
) -> None:
    path = saved(layer(), tmp_path, beside=beside)
    before = onnx.load(path)
    path.write_bytes(read_model(path).SerializeToString())
    assert onnx.load(path) == before
    onnx.checker.check_model(path)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_numbers_are_read_wherever_they_lie(
    tmp_path: Path, beside: bool, raw: bool, kind: type[np.generic]
) -> None:
    wanted = np.arange(6).reshape(2, 3).astype(kind)
    tensor = numpy_helper.from_array(wanted, "t")
    if not raw and not beside:
        tensor = helper.make_tensor("t", tensor.data_type, (2, 3), wanted.ravel().tolist())
    model = layer()
    model.graph.initializer.append(tensor)
    read = read_model(saved(model, tmp_path, beside=beside)).graph.initializer[-1]
    assert (values_of(read, tmp_path) == wanted).all()


def test_other_kinds_of_numbers_are_nobodys_business(tmp_path: Path) -> None:
    model = layer(kind=TensorProto.FLOAT16)
    (weights,) = read_model(saved(model, tmp_path)).graph.initializer
    assert values_of(weights, tmp_path) is None


def test_numbers_that_are_added_are_those_that_onnx_reads(tmp_path: Path) -> None:
    path = saved(layer(), tmp_path)
    model, values = read_model(path), np.arange(4, dtype=np.int64).reshape(2, 2)
    assert add_values(model.graph, "more", values) == "more"
    path.write_bytes(model.SerializeToString())
    found = onnx.load(path).graph.initializer[-1]
    assert found.name == "more"
    assert (numpy_helper.to_array(found) == values).all()


def test_a_node_is_added_where_it_is_computed(tmp_path: Path) -> None:
    path = saved(layer(rows=2), tmp_path)
    model = read_model(path)
    relu = model.graph.node[1]
    add_node(model.graph, relu, "Neg", ["product"], "negative")
    add_node(model.graph, relu, "Neg", ["hidden"], "logits", behind=True)
    relu.input[0], relu.output[0] = "negative", "hidden"
    path.write_bytes(model.SerializeToString())
    found = onnx.load(path)
    assert [node.op_type for node in found.graph.node] == ["MatMul", "Neg", "Relu", "Neg"]
    onnx.checker.check_model(found, full_check=True)


def test_attributes_are_found_by_name(tmp_path: Path) -> None:
    node = helper.make_node("Transpose", ["x"], ["logits"], perm=[1, 0])
    model = layer()
    model.graph.node.append(node)
    transpose = read_model(saved(model, tmp_path)).graph.node[-1]
    assert list(attribute_of(transpose, "perm").ints) == [1, 0]
    assert attribute_of(transpose, "axis") is None


def test_shapes_are_known_whole_or_not_at_all(tmp_path: Path) -> None:
    symbolic = read_model(saved(layer(), tmp_path)).graph.input[0]
    fixed = read_model(saved(layer(rows=3), tmp_path)).graph.input[0]
    assert (shape_of(symbolic), shape_of(fixed)) == (None, (3, WIDTH))
