"""Prepared graphs as a page gets them: sizes of dimensions, files of weights."""

import numpy as np
import onnx
import pytest

from runner.backends.onnxruntime_web.graph import (
    cache_locations,
    external_files,
    open_sizes,
    symbolic_sizes,
)
from runner.contract.axes import Backend
from runner.contract.errors import Unsupported
from runner.contract.graph import GraphPart
from tests.support.jobs import a_graph
from tests.support.onnx_graphs import WIDTH, layer
from tests.support.words import raises_words


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


def test_open_dimensions_have_their_names_by_axis() -> None:
    assert open_sizes(layer()) == {"x": ["n", ""]}
    assert open_sizes(layer(rows=3)) == {}


def a_part(*outputs: str) -> GraphPart:
    return GraphPart(
        file="part.onnx",
        sha256="",
        size_bytes=1,
        inputs=("input_ids", f"input.{CACHE}"),
        outputs=outputs,
    )


CACHE = "past_key_values.layers.0.keys"
PREFILL = a_part("logits", CACHE, "next_tokens")
DECODE = a_part("logits", f"output.{CACHE}", "next_tokens")


@pytest.mark.parametrize(
    ("backend", "location"), [("webgpu", "gpu-buffer"), ("webnn", "ml-tensor"), ("wasm", None)]
)
def test_caches_alone_stay_on_the_device(backend: Backend, location: str | None) -> None:
    graph = a_graph({"prefill": PREFILL, "decode": DECODE}, content="generation")
    prefill, decode = (cache_locations(graph, part, backend) for part in graph.parts)
    assert prefill == ({CACHE: location} if location else {})
    assert decode == ({f"output.{CACHE}": location} if location else {})
    forward = a_graph({"forward": PREFILL})
    assert cache_locations(forward, "forward", backend) == {}


def test_weights_lie_where_the_graph_says_so() -> None:
    assert external_files(layer()) == []
    assert external_files(with_weights_at("prefill.onnx.data")) == ["prefill.onnx.data"]


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "folder/weights"])
def test_weights_outside_of_the_folder_are_refused(location: str) -> None:
    with raises_words(Unsupported, match="outside its folder"):
        external_files(with_weights_at(location))
