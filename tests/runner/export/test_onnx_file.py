"""Files hold what is wanted of a model, their weights beside them."""

from pathlib import Path

import onnx
import onnx_ir
from onnx import helper

from runner.export.onnx_file import describe, save
from tests.onnx_graphs import FLOAT, WIDTH, layer

WIDE = 64
WEIGHTS_BYTES = 4 * WIDTH * WIDE


def two_outputs() -> onnx_ir.Model:
    """A layer with weights worth a file of their own, which gives what goes into its ReLU too."""
    model = layer()
    weights = helper.make_tensor("w", FLOAT, (WIDTH, WIDE), [0.5] * WIDTH * WIDE)
    model.graph.initializer[0].CopyFrom(weights)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = WIDE
    product = model.graph.output.add()
    product.CopyFrom(model.graph.output[0])
    product.name = "product"
    return onnx_ir.from_proto(model)


def test_weights_lie_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    save(two_outputs(), path, ["logits"])
    assert (tmp_path / "layer.onnx.data").stat().st_size >= WEIGHTS_BYTES
    onnx.checker.check_model(path)


def test_outputs_and_nodes_that_nobody_wants_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    save(two_outputs(), path, ["product", "unheard of"])
    graph = onnx.load_model(path).graph
    assert [value.name for value in graph.output] == ["product"]
    assert [node.op_type for node in graph.node] == ["MatMul"]


def test_inputs_that_lead_to_no_output_are_gone(tmp_path: Path) -> None:
    path, model = tmp_path / "layer.onnx", layer()
    model.graph.input.append(helper.make_tensor_value_info("mask", FLOAT, ("n",)))
    save(onnx_ir.from_proto(model), path, ["logits"])
    assert describe(path).inputs == ("x",)


def test_a_part_tells_what_it_takes_gives_and_holds(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    save(two_outputs(), path, ["logits"])
    part = describe(path)
    assert (part.file, part.inputs, part.outputs) == ("layer.onnx", ("x",), ("logits",))
    sizes = [file.stat().st_size for file in part.files(tmp_path)]
    assert (len(sizes), part.size_bytes) == (2, sum(sizes))


def test_other_weights_have_another_hash(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    save(two_outputs(), path, ["logits"])
    before, weights = describe(path), tmp_path / "layer.onnx.data"
    weights.write_bytes(bytes(weights.stat().st_size))
    after = describe(path)
    assert before.size_bytes == after.size_bytes
    assert before.sha256 != after.sha256
