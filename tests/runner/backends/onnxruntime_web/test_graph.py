"""Prepared graphs as a page gets them: sizes of dimensions, files of weights."""

import onnx
import pytest

from runner.backends.onnxruntime_web.query import external_files
from runner.contract.errors import Unsupported
from tests.support.onnx_graphs import layer
from tests.support.words import raises_words


def with_weights_at(location: str) -> onnx.ModelProto:
    model = layer()
    weights = model.graph.initializer[0]
    weights.data_location = onnx.TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key, entry.value = "location", location
    return model


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "folder/weights"])
def test_weights_outside_of_the_folder_are_refused(location: str) -> None:
    with raises_words(Unsupported, match="outside its folder"):
        external_files(with_weights_at(location))
