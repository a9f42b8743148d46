"""Requests of OpenVINO, and the memory of their inputs and outputs."""

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from runner.backends.graphs.generation import Executor
from runner.backends.openvino.compile import Compiler
from runner.backends.openvino.device import find_openvino_device, identity_model
from runner.backends.openvino.graph import OpenVINOGraph, read_graph_models
from runner.backends.openvino.query import (
    GraphQuery,
    PartExecutor,
    PartRequest,
    identity_query,
    to_arrays,
    to_slot,
)
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.inputs import Inputs
from tests.support.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph
from tests.support.openvino_models import doubling, remembering
from tests.support.words import raises_words

CORE = ov.Core()
COMPILER = Compiler(CORE, find_openvino_device(CORE, "CPU"), "fp32", threads=1)
GENERATION: dict[Part, Any] = {"prefill": layer(), "decode": layer()}


def step_of(model: ov.Model) -> PartRequest:
    return PartRequest(model, COMPILER.compile(model))


def executor_of(model: ov.Model, *outputs: str) -> PartExecutor:
    compiled = COMPILER.compile(model)
    return PartExecutor((PartRequest(model, compiled), PartRequest(model, compiled)), outputs)


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


@pytest.mark.parametrize("flaw", ["read-only", "strided"])
def test_inputs_that_openvino_cannot_read_in_place_are_copied(flaw: str) -> None:
    array = np.arange(4, dtype=np.float32).reshape(2, 2)
    array = array.T if flaw == "strided" else array
    array.flags.writeable = flaw != "read-only"
    step = step_of(doubling())
    step.read({"x": to_slot(array)})
    step()
    assert to_arrays(step.outputs(["y"]))["y"].tolist() == (2 * array).tolist()


def test_a_step_may_execute_otherwise_for_a_while(x: Inputs, step: PartRequest) -> None:
    step()
    usual = step.request
    request = COMPILER.compile(doubling(), PERF_COUNT=True).create_infer_request()
    with step.executing(request):
        x["x"][:] = 5
        step()
        assert step.request is request
        assert to_arrays(step.outputs(["y"]))["y"].tolist() == [[10, 10]]
    assert step.request is usual
    assert to_arrays(step.outputs(["y"]))["y"].tolist() == [[2, 2]]


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


def test_what_a_part_leaves_open_is_looked_up_anew_each_time() -> None:
    growing, doubled = step_of(remembering()), step_of(doubling())
    arrays = [np.full((1, size), size, dtype=np.float32) for size in (1, 1, 3)]
    growing.read({"before": to_slot(arrays[0]), "x": to_slot(arrays[1])})
    doubled.read({"x": growing.outputs(["after"])["after"]})
    query = GraphQuery([growing, doubled], doubled.outputs(["y"]))
    assert to_arrays(query())["y"].tolist() == [[2, 2]]
    arrays[1][:] = 4
    assert to_arrays(query())["y"].tolist() == [[2, 8]]


def test_inputs_that_are_missing_or_of_a_shape_that_does_not_fit_are_told(tmp_path: Path) -> None:
    graph = opened(save_graph(tmp_path, {"forward": layer()}), tmp_path)
    with raises_words(Unsupported, match="the graph takes x, which nothing gives"):
        graph.query({})
    with raises_words(Unsupported, match="cannot compile the graph's part forward: "):
        graph.query({"x": np.ones((2, WIDTH + 1), dtype=np.float32)})


def test_an_executor_reads_what_it_gave_before() -> None:
    executor: Executor = executor_of(remembering(), "after")
    cache = executor.place("before", np.zeros((1, 0), dtype=np.float32))
    for number in range(5):
        x = executor.place("x", np.full((1, 1), number, dtype=np.float32))
        outputs = executor({"before": cache, "x": x})
        cache = outputs["after"]
    assert executor.read(cache).tolist() == [[0, 1, 2, 3, 4]]


def test_an_executors_outputs_outlast_one_more_call() -> None:
    executor = executor_of(doubling(), "y")
    one, other = (
        executor({"x": executor.place("x", np.full((1, 2), n, dtype=np.float32))})["y"]
        for n in (1, 2)
    )
    assert executor.read(one).tolist() == [[2, 2]]
    assert executor.read(other).tolist() == [[4, 4]]


def test_nothing_is_executed_as_all_else_is() -> None:
    query = identity_query(identity_model(), COMPILER.compile(identity_model()))
    assert {name: value.tolist() for name, value in to_arrays(query()).items()} == {"nothing": [0]}


def test_each_query_has_outputs_of_its_own() -> None:
    model = doubling()
    model.reshape({"x": [1, 2]})
    request = step_of(model)
    request.renew_outputs()
    request.read({"x": to_slot(np.ones((1, 2), dtype=np.float32))})
    query = GraphQuery([request], request.outputs(["y"]))
    first = query()["y"].tensor()
    again = query()["y"].tensor()
    assert first.data.tolist() == again.data.tolist() == [[2, 2]]
    assert first.data.ctypes.data != again.data.ctypes.data
