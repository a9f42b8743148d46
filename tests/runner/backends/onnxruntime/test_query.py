"""Queries and executors over parts of graphs; generation is tried in graphs/."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from runner.backends.onnxruntime.device import cpu_device
from runner.backends.onnxruntime.graph import OnnxGraph
from runner.backends.onnxruntime.query import (
    _EMPTY_GRAPH,
    OnnxExecutor,
    OnnxQuery,
    empty_query,
    make_generator,
    to_device,
    to_host,
    with_copies,
)
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph
from tests.support.fakes import FakeClock
from tests.support.onnx_graphs import FLOAT, KEY, WIDTH, layer, model_of, perceptron, save_graph
from tests.support.words import raises_words

X = np.random.default_rng(1).standard_normal((2, WIDTH)).astype(np.float32)


def opened_in(graphs: Path, graph: Graph) -> OnnxGraph:
    return OnnxGraph(graph, graphs / KEY / graph.shape, cpu_device(), threads=1)


@pytest.fixture
def opened(tmp_path: Path) -> OnnxGraph:
    return opened_in(tmp_path, save_graph(tmp_path, {"decode": layer()}))


@pytest.fixture
def part(opened: OnnxGraph) -> OnnxExecutor:
    return OnnxExecutor(opened, "decode")


def test_each_call_gives_new_values_of_whatever_size(part: OnnxExecutor) -> None:
    first = part({"x": part.place("x", X)})["logits"]
    kept = part.read(first).copy()
    longer = np.concatenate([X, -X])
    second = part.read(part({"x": part.place("x", longer)})["logits"])
    assert second.shape == (4, WIDTH)
    assert np.allclose(second[:2], kept, rtol=1e-5)
    assert (part.read(first) == kept).all()


def test_what_a_call_gives_the_next_may_take(opened: OnnxGraph, part: OnnxExecutor) -> None:
    first = part({"x": part.place("x", X)})
    second = part.read(part({"x": first["logits"]})["logits"])
    session = opened.sessions["decode"]
    expected = session.run(None, {"x": session.run(None, {"x": X})[0]})[0]
    assert (second == expected).all()


def test_sessions_are_followed_there_and_back(
    opened: OnnxGraph, part: OnnxExecutor, tmp_path: Path
) -> None:
    feeds = {"x": part.place("x", X)}
    before = part.read(part(feeds)["logits"])
    with opened.profiled(tmp_path) as sessions:
        assert (part.read(part(feeds)["logits"]) == before).all()
        profile = Path(sessions["decode"].end_profiling())
    assert "model_run" in profile.read_text()
    assert (part.read(part(feeds)["logits"]) == before).all()


def test_numbers_come_in_the_type_that_the_part_declares(part: OnnxExecutor) -> None:
    value = part.place("x", X.astype(np.float64))
    assert part.read(value).dtype == np.float32


def test_parts_that_extend_no_cache_do_not_generate(opened: OnnxGraph) -> None:
    with raises_words(Unsupported, match="no part that extends a cache"):
        make_generator(opened, perceptron(), {"x": X}, 2, FakeClock())


def query_over(graph: OnnxGraph, **inputs: Any) -> OnnxQuery:
    return OnnxQuery(graph, perceptron(), inputs)


@pytest.fixture
def single(tmp_path: Path) -> OnnxGraph:
    return opened_in(tmp_path, save_graph(tmp_path, {"forward": layer()}))


def test_each_query_has_outputs_of_its_own(single: OnnxGraph) -> None:
    query = query_over(single, x=X)
    first, again = query()["logits"], query()["logits"]
    assert again.data_ptr() != first.data_ptr()
    expected = single.sessions["forward"].run(None, {"x": X})[0]
    assert (first.numpy() == expected).all()
    assert (again.numpy() == expected).all()


def test_a_query_with_copies_brings_its_inputs_along_in_each_call(single: OnnxGraph) -> None:
    query = query_over(single, x=X.copy())
    expected = to_host(query())["logits"]
    call = with_copies(query)
    for _ in range(2):
        query.inputs["x"].update_inplace(np.zeros_like(X))
        assert (call()["logits"] == expected).all()


def test_inputs_that_no_part_takes_are_left_out(single: OnnxGraph) -> None:
    query = query_over(single, x=X, mask=np.ones(2, dtype=np.int64))
    assert query.inputs.keys() == {"x"}
    assert to_host(query())["logits"].shape == (2, WIDTH)


def test_floating_inputs_come_in_the_type_that_the_graph_declares() -> None:
    value = to_device(X, "tensor(float16)", cpu_device())
    assert value.data_type() == "tensor(float16)"
    assert to_device(X, "tensor(float)", cpu_device()).data_type() == "tensor(float)"
    assert to_device(np.ones(2, dtype=np.int64), "any", cpu_device()).data_type() == "tensor(int64)"
    with raises_words(Unsupported, match=r"declares tensor\(int64\) where the input is float32"):
        to_device(X, "tensor(int64)", cpu_device())


def test_slices_are_bound_as_they_read_not_as_they_lie(single: OnnxGraph) -> None:
    wide = np.concatenate([X, X], axis=1)[:, ::2]
    straight = query_over(single, x=wide.copy())()["logits"].numpy()
    assert (query_over(single, x=wide)()["logits"].numpy() == straight).all()


def test_parts_hand_on_what_they_give(tmp_path: Path) -> None:
    parts = {"vision": layer("x", "features"), "language": layer("features", "logits")}
    graph = opened_in(tmp_path, save_graph(tmp_path, parts))
    query = query_over(graph, x=X)
    first, second = query(), query()
    assert first.keys() == {"logits"}
    assert len(query.sessions) == 2
    features = graph.sessions["vision"].run(None, {"x": X})[0]
    logits = graph.sessions["language"].run(None, {"features": features})[0]
    assert (second["logits"].numpy() == logits).all()


def test_other_sessions_are_bound_and_then_the_old_ones(single: OnnxGraph, tmp_path: Path) -> None:
    query = query_over(single, x=X)
    usual = query()["logits"].data_ptr()
    with single.profiled(tmp_path) as sessions:
        assert query()["logits"].data_ptr() != usual
        assert query.sessions == list(sessions.values())
    assert query.sessions == list(single.sessions.values())
    assert to_host(query())["logits"].any()


def test_a_query_that_failed_is_bound_anew(single: OnnxGraph) -> None:
    query = query_over(single, x=X[:, :3])
    for _ in range(2):
        with pytest.raises(Exception, match="invalid dimensions"):
            query()


def test_an_output_that_is_an_input_has_its_own_memory(tmp_path: Path) -> None:
    """ONNX Runtime could hand the input on; then a later query would write into it."""
    value = [helper.make_tensor_value_info(name, FLOAT, ("n", WIDTH)) for name in ("x", "y")]
    node = helper.make_node("Identity", ["x"], ["y"])
    model: onnx.ModelProto = model_of(helper.make_graph([node], "same", value[:1], value[1:]))
    query = query_over(opened_in(tmp_path, save_graph(tmp_path, {"forward": model})), x=X)
    query()
    assert (query()["y"].numpy() == X).all()
    assert query.inputs["x"].data_ptr() != query()["y"].data_ptr()


def test_the_empty_query_hands_its_input_on_by_a_file_that_onnx_writes() -> None:
    x, y = (helper.make_tensor_value_info(name, FLOAT, (1,)) for name in "xy")
    node = helper.make_node("Identity", ["x"], ["y"], "identity")
    model = model_of(helper.make_graph([node], "empty", [x], [y]))
    model.producer_name = "accelmatrix"
    assert onnx.load(_EMPTY_GRAPH) == model
    query: Any = empty_query()
    assert query()["y"].numpy() == 1
    assert query()["y"].numpy() == 1
