"""A file counts as int8 only if something in it was quantised."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from runner.errors import Unsupported
from runner.export.quantize import by_calibration, dynamically
from runner.export.whole_numbers import integer_products
from tests.onnx_graphs import FLOAT, WIDTH, layer, model_of

Files = tuple[Path, Path]


def without_weights(kind: str) -> onnx.ModelProto:
    """That operator over the input twice: nothing in it is a weight."""
    value = helper.make_tensor_value_info("x", FLOAT, (WIDTH, WIDTH))
    result = helper.make_tensor_value_info("logits", FLOAT, (WIDTH, WIDTH))
    return model_of(
        helper.make_graph([helper.make_node(kind, ["x", "x"], ["logits"])], "g", [value], [result])
    )


def mixed() -> onnx.ModelProto:
    """The layer, and a product of two activations behind it."""
    model = layer(rows=WIDTH, result="hidden")
    model.graph.node.append(helper.make_node("MatMul", ["hidden", "hidden"], ["logits"]))
    model.graph.output[0].name = "logits"
    return model


def in_a_branch() -> onnx.ModelProto:
    """A product inside of a branch."""
    inner = without_weights("MatMul").graph
    del inner.input[:]
    otherwise = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"])],
        "otherwise",
        [],
        [helper.make_tensor_value_info("same", FLOAT, (WIDTH, WIDTH))],
    )
    branch = helper.make_node("If", ["c"], ["logits_out"], then_branch=inner, else_branch=otherwise)
    value = helper.make_tensor_value_info("x", FLOAT, (WIDTH, WIDTH))
    truth = helper.make_tensor_value_info("c", TensorProto.BOOL, ())
    result = helper.make_tensor_value_info("logits_out", FLOAT, (WIDTH, WIDTH))
    return model_of(helper.make_graph([branch], "g", [value, truth], [result]))


def files(folder: Path, model: onnx.ModelProto, name: str = "forward") -> Files:
    source = folder / f"{name}.onnx"
    onnx.save_model(model, source)
    return source, folder / f"{name}-int8.onnx"


def test_products_with_weights_are_counted_among_all(tmp_path: Path) -> None:
    assert dynamically([files(tmp_path, mixed())]).endswith("in 1 of 2 products")


def test_the_counts_of_parts_are_added(tmp_path: Path) -> None:
    parts = [files(tmp_path, model, name) for name, model in (("a", mixed()), ("b", layer()))]
    assert dynamically(parts).endswith("in 2 of 3 products")


def test_a_part_without_products_needs_none(tmp_path: Path) -> None:
    parts = [files(tmp_path, without_weights("Add"), "embed"), files(tmp_path, layer())]
    assert dynamically(parts).endswith("in 1 of 1 products")


def test_a_file_that_stays_fp32_is_refused(tmp_path: Path) -> None:
    parts = [files(tmp_path, layer()), files(tmp_path, without_weights("MatMul"), "decode")]
    with pytest.raises(Unsupported, match=r"decode.onnx would not become int8: of its 1 products"):
        dynamically(parts)


def test_without_any_product_there_is_nothing_to_quantise(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="it has no product to quantise"):
        dynamically([files(tmp_path, without_weights("Add"))])


def test_products_inside_of_branches_are_found(tmp_path: Path) -> None:
    source, target = files(tmp_path, in_a_branch())
    onnx.save_model(layer(), target)
    with pytest.raises(Unsupported, match="of its 1 products"):
        integer_products(source, target, ["MatMul"])


def test_weights_between_quantising_nodes_are_counted(tmp_path: Path) -> None:
    queries = [{"x": np.ones((WIDTH, WIDTH), dtype=np.float32)}]
    assert "in 1 of 2 products, " in by_calibration([files(tmp_path, mixed())], queries)


def test_ranges_without_weights_make_no_int8(tmp_path: Path) -> None:
    queries = [{"x": np.ones((WIDTH, WIDTH), dtype=np.float32)}]
    with pytest.raises(Unsupported, match="none was quantised"):
        by_calibration([files(tmp_path, without_weights("MatMul"))], queries)
