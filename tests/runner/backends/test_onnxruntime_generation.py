"""Parts that are executed step by step; whole generations are in test_graph_generation_runtimes."""

from pathlib import Path

import numpy as np
import pytest

from runner.backends.onnxruntime_device import cpu_device
from runner.backends.onnxruntime_generation import OnnxExecutor, generator
from runner.backends.onnxruntime_graph import OnnxGraph
from runner.errors import Unsupported
from tests.fakes import FakeClock
from tests.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph

X = np.random.default_rng(1).standard_normal((2, WIDTH)).astype(np.float32)


@pytest.fixture
def opened(tmp_path: Path) -> OnnxGraph:
    graph = save_graph(tmp_path, {"decode": layer()})
    return OnnxGraph(graph, tmp_path / KEY / "dynamic", cpu_device(), threads=1)


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


def test_other_sessions_are_followed_there_and_back(
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
    with pytest.raises(Unsupported, match="no part that extends a cache"):
        generator(opened, perceptron(), {"x": X}, 2, FakeClock())
