"""Requests of OpenVINO, and the memory of their inputs and outputs."""

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from runner.backends.openvino.device import Compiler, find_openvino_device
from runner.backends.openvino.graph import OpenVINOGraph, read_graph_models
from runner.backends.openvino.query import GraphQuery, PartRequest, to_arrays, to_slot
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.inputs import Inputs
from tests.support.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph
from tests.support.openvino_models import doubling
from tests.support.words import raises_words

CORE = ov.Core()
COMPILER = Compiler(CORE, find_openvino_device(CORE, "CPU"), "fp32", threads=1)
GENERATION: dict[Part, Any] = {"prefill": layer(), "decode": layer()}


def step_of(model: ov.Model) -> PartRequest:
    return PartRequest(model, COMPILER.compile(model))


def opened(graph: Graph, graphs: Path) -> OpenVINOGraph:
    models = read_graph_models(CORE, graph, graphs / KEY / graph.shape)
    spec = perceptron().model_copy(update={"encoder_decoder": graph.content == "generation"})
    return OpenVINOGraph(spec, graph, models, COMPILER)


@pytest.fixture
def x() -> Inputs:
    return {"x": np.ones((1, 2), dtype=np.float32)}


@pytest.fixture
def step(x: Inputs) -> PartRequest:
    """The request that doubles `x`."""
    step = step_of(doubling())
    step.read({"x": to_slot(x["x"])})
    return step


def test_inputs_are_read_where_they_lie_and_outputs_are_the_last_calls(
    x: Inputs, step: PartRequest
) -> None:
    query = GraphQuery([step], step.outputs(["y"]))
    first = query()
    assert to_arrays(first)["y"].tolist() == [[2, 2]]
    x["x"][:] = 3
    query()
    assert to_arrays(first)["y"].tolist() == [[6, 6]]


def test_parts_hand_on_what_they_give(tmp_path: Path) -> None:
    parts: dict[Part, object] = {"vision": layer("x", "hidden"), "language": layer("hidden")}
    graph = save_graph(tmp_path, parts)  # type: ignore[arg-type]
    inputs = {"x": np.ones((2, WIDTH), dtype=np.float32)}
    query = opened(graph, tmp_path).query(inputs)
    once = {name: np.array(value) for name, value in to_arrays(query()).items()}
    inputs["x"][:] = 2
    twice = to_arrays(query())
    assert once.keys() == {"logits"}
    np.testing.assert_allclose(twice["logits"], 2 * once["logits"], rtol=1e-5)
    shapes = [str(step.compiled.input(0).partial_shape) for step in query.requests]
    assert shapes == [f"[2,{WIDTH}]"] * 2


def test_a_graph_that_generates_is_known_whole_and_gives_its_decoder_two_requests(
    tmp_path: Path,
) -> None:
    graph = opened(save_graph(tmp_path, GENERATION, content="generation"), tmp_path)
    query = graph.query({"x": np.ones((2, WIDTH), dtype=np.float32)})
    assert len(query.requests) == 1
    assert set(query.compiled) == {part.compiled for part in graph.parts}
    assert len(query.compiled) == 2
    requests = {name: len(item.requests) for name, item in graph.executors().items()}
    assert requests == {"prefill": 1, "decode": 2}


def test_inputs_that_are_missing_or_of_a_shape_that_does_not_fit_are_told(tmp_path: Path) -> None:
    graph = opened(save_graph(tmp_path, {"forward": layer()}), tmp_path)
    with raises_words(Unsupported, match="the graph takes x, which nothing gives"):
        graph.query({})
    with raises_words(Unsupported, match="cannot compile the graph's part forward: "):
        graph.query({"x": np.ones((2, WIDTH + 1), dtype=np.float32)})
