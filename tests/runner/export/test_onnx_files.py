"""Files hold what is wanted of a model, their weights beside them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir
import onnxruntime
import pytest
from onnx import helper

from runner.export.onnx_files import describe_part, save_model, save_sharing
from tests.support.onnx_graphs import FLOAT, WIDTH, layer

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


def test_a_part_tells_what_it_takes_gives_and_holds_with_its_weights_beside_it(
    tmp_path: Path,
) -> None:
    path, weights = tmp_path / "layer.onnx", tmp_path / "layer.onnx.data"
    save_model(two_outputs(), path, ["logits"])
    onnx.checker.check_model(path)
    part = describe_part(path)
    assert (part.file, part.inputs, part.outputs) == ("layer.onnx", ("x",), ("logits",))
    sizes = [file.stat().st_size for file in part.files(tmp_path)]
    assert (len(sizes), part.size_bytes) == (2, sum(sizes))
    assert weights.stat().st_size >= WEIGHTS_BYTES
    weights.write_bytes(bytes(weights.stat().st_size))
    other = describe_part(path)
    assert other.size_bytes == part.size_bytes
    assert other.sha256 != part.sha256


def test_outputs_nodes_and_inputs_that_nobody_wants_are_gone(tmp_path: Path) -> None:
    path, model = tmp_path / "layer.onnx", layer()
    save_model(two_outputs(), path, ["product", "unheard of"])
    graph = onnx.load_model(path).graph
    assert [value.name for value in graph.output] == ["product"]
    assert [node.op_type for node in graph.node] == ["MatMul"]
    model.graph.input.append(helper.make_tensor_value_info("mask", FLOAT, ("n",)))
    save_model(onnx_ir.from_proto(model), path, ["logits"])
    assert describe_part(path).inputs == ("x",)


Weights = npt.NDArray[np.float32]
SQUARE = 4 * WIDTH * WIDTH


def of_weights(weights: Weights, name: str = "w") -> onnx_ir.Model:
    model = onnx_ir.from_proto(layer(rows=1))
    value = model.graph.initializers.pop("w")
    value.name = name
    value.const_value = onnx_ir.tensor(weights, name=name)
    model.graph.initializers[name] = value
    return model


def answer(path: Path) -> Weights:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, WIDTH), dtype=np.float32)})
    outcome: Weights = result
    return outcome


@pytest.mark.parametrize(
    ("sign", "name", "tensors"), [(1, "renamed", 1), (-1, "w", 2)], ids=["equal", "different"]
)
def test_equal_tensors_are_written_once_whatever_their_names(
    tmp_path: Path, sign: int, name: str, tensors: int
) -> None:
    weights = np.random.default_rng(1).standard_normal((WIDTH, WIDTH), dtype=np.float32)
    one, other, data = (tmp_path / name for name in ("one.onnx", "other.onnx", "one.onnx.data"))
    save_sharing({one: of_weights(weights), other: of_weights(sign * weights, name)}, data)
    assert data.stat().st_size == tensors * SQUARE
    for path, product in ((one, weights.sum(axis=0)), (other, sign * weights.sum(axis=0))):
        np.testing.assert_allclose(answer(path)[0], np.maximum(product, 0), rtol=1e-5, atol=1e-6)
