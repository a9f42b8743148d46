"""Prepared graphs as a page gets them: sizes of dimensions, files of weights."""

import numpy as np
import onnx
import pytest

from runner.backends.onnxruntime_web.graph import external_files, symbolic_sizes
from runner.contract.errors import Unsupported
from tests.support.onnx_graphs import WIDTH, layer


def with_weights_at(location: str) -> onnx.ModelProto:
    model = layer()
    weights = model.graph.initializer[0]
    weights.data_location = onnx.TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key, entry.value = "location", location
    return model


def test_inputs_tell_the_sizes_of_symbolic_dimensions() -> None:
    inputs = {"x": np.zeros((3, WIDTH), np.float32), "another": np.zeros((7,))}
    assert symbolic_sizes(layer(), inputs) == {"n": 3}
    assert symbolic_sizes(layer(rows=3), inputs) == {}
    assert symbolic_sizes(layer(source="hidden"), inputs) == {}


def test_weights_lie_where_the_graph_says_so() -> None:
    assert external_files(layer()) == []
    assert external_files(with_weights_at("prefill.onnx.data")) == ["prefill.onnx.data"]


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "folder/weights"])
def test_weights_outside_of_the_folder_are_refused(location: str) -> None:
    with pytest.raises(Unsupported, match="outside its folder"):
        external_files(with_weights_at(location))
