"""Graphs read, quantised by NNCF, and compiled by OpenVINO, and requests over their memory."""

import weakref
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper

from runner.backends.openvino.backend import OpenVINOSession, open_session
from runner.backends.openvino.device import Compiler, find_openvino_device
from runner.backends.openvino.graph import (
    _SAMPLES,
    OpenVINOGraph,
    OpenVINOGraphs,
    quantize,
    read_graph_models,
)
from runner.backends.openvino.query import GraphQuery, PartRequest, to_arrays, to_slot
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.correctness.differences import relative_difference
from runner.inputs import Inputs, synthesise
from tests.support.onnx_graphs import FLOAT, KEY, WIDTH, layer, model_of, perceptron, save_graph
from tests.support.openvino_models import doubling, openvino_cell, openvino_job
from tests.support.words import raises_words

ONE, THREE = openvino_cell(1), openvino_cell(3)
JOB = openvino_job(ONE, THREE)
CORE = ov.Core()


class WatchedCore:
    """OpenVINO; notes how much of what it gave is held as it is asked for more."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self._core = ov.Core()
        self._given: list[weakref.ref[Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def read_model(self, path: Path) -> ov.Model:
        return self._give(self._core.read_model, path)

    def compile_model(self, *arguments: Any) -> ov.CompiledModel:
        return self._give(self._core.compile_model, *arguments)

    def _give(self, make: Any, *arguments: Any) -> Any:
        self.held.append(sum(given() is not None for given in self._given))
        created = make(*arguments)
        self._given.append(weakref.ref(created))
        return created


def loaded(core: WatchedCore, graphs: Path) -> OpenVINOGraphs:
    compiler = Compiler(core, find_openvino_device(core, "CPU"), "fp32", threads=1)
    core.held.clear()
    core._given.clear()
    return OpenVINOGraphs(JOB, core, compiler, graphs)


def compile_for(graphs: OpenVINOGraphs, *rows: int) -> None:
    for count in rows:
        cell = openvino_cell(count)
        graphs.of(cell).compile(synthesise(perceptron(), cell, 0))


def test_a_shape_is_dropped_before_the_next_is_compiled(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    core = WatchedCore()
    compile_for(loaded(core, tmp_path), 1, 3, 3, 1)
    assert core.held == [0, 1, 1, 1]


def test_a_graph_that_cannot_be_read_leaves_none(tmp_path: Path) -> None:
    for rows in (1, 3):
        save_graph(tmp_path, {"forward": layer(rows=rows)}, f"b{rows}")
    file = tmp_path / KEY / "b3" / "forward.onnx"
    file.write_bytes(b"\0" * file.stat().st_size)
    graphs = loaded(WatchedCore(), tmp_path)
    assert graphs.of(ONE) is graphs.latest
    with raises_words(Unsupported, match="cannot read the graph"):
        graphs.of(THREE)
    assert graphs.latest is None
    assert graphs.of(ONE) is graphs.latest


CELL = openvino_cell(2, precision="int8")
INT8_JOB = openvino_job(CELL)
INT8_ONE, INT8_THREE = (openvino_cell(rows, precision="int8") for rows in (1, 3))


def compiled(model: ov.Model) -> ov.CompiledModel:
    return CORE.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def relu(rows: int) -> onnx.ModelProto:
    node = helper.make_node("Relu", ["x"], ["logits"], name="relu")
    x, y = (helper.make_tensor_value_info(name, FLOAT, (rows, WIDTH)) for name in ("x", "logits"))
    return model_of(helper.make_graph([node], "relu", [x], [y]))


def precision_told(session: OpenVINOSession) -> object:
    return session.columns["inference_precision"]


@pytest.mark.slow
def test_an_int8_session_says_how_it_came_about_and_that_it_is_in_int8(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    inputs = synthesise(perceptron(), CELL, 0)
    with closing(open_session(openvino_job(openvino_cell(2)), 1, tmp_path)) as session:
        exact = session.arrays(session.bind(CELL, inputs)())["logits"]
    with closing(open_session(INT8_JOB, 1, tmp_path)) as session:
        columns = session.columns
        outputs = session.arrays(session.bind(CELL, inputs)())["logits"]
    assert 0 < relative_difference(outputs, exact) < 0.3
    assert columns["inference_precision"] == "f32, int8 in 1 products"
    assert str(columns["quantization"]).startswith("NNCF ")
    assert f"{_SAMPLES} seeded samples" in str(columns["quantization"])
    options: Any = columns["execution_options"]
    assert isinstance(columns["compile_time_s"], float)
    assert float(options["nncf_quantize_s"]) > 0  # beside the time of compiling


@pytest.mark.slow
def test_what_is_told_of_int8_is_that_of_the_cell_bound_last(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer(rows=1)}, "b1")
    vision, language = layer("x", "hidden", rows=3), layer("hidden", rows=3)
    save_graph(tmp_path, {"vision": vision, "language": language}, "b3")
    with closing(open_session(openvino_job(INT8_ONE, INT8_THREE), 1, tmp_path)) as session:
        reported = [precision_told(session)]
        for cell in (INT8_ONE, INT8_THREE, INT8_ONE):
            session.bind(cell, synthesise(perceptron(), cell, 0))
            reported.append(precision_told(session))
    assert reported == [f"f32, int8 in {products} products" for products in (1, 1, 2, 1)]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("without", [INT8_ONE, INT8_THREE])
def test_a_cell_without_a_product_in_int8_is_unsupported(tmp_path: Path, without: Cell) -> None:
    for cell in (INT8_ONE, INT8_THREE):
        rows = cell.batch_size
        graph = relu(rows) if cell == without else layer(rows=rows)
        save_graph(tmp_path, {"forward": graph}, f"b{rows}")
    with closing(open_session(openvino_job(INT8_ONE, INT8_THREE), 1, tmp_path)) as session:
        for cell in (INT8_ONE, INT8_THREE):
            inputs = synthesise(perceptron(), cell, 0)
            if cell == without:
                with raises_words(Unsupported, match="no product of the int8 graph in int8"):
                    session.bind(cell, inputs)
            else:
                assert session.all_finite(session.bind(cell, inputs)())


@pytest.mark.slow
def test_of_what_generates_the_weights_alone_become_int8(tmp_path: Path) -> None:
    parts: dict[Part, Any] = {"prefill": layer(), "decode": layer()}
    graph = save_graph(tmp_path, parts, content="generation")
    folder = tmp_path / KEY / "dynamic"
    models = {name: CORE.read_model(folder / part.file) for name, part in graph.parts.items()}
    quantized = quantize(INT8_JOB, CELL, graph, models, compiled)
    assert quantized.models.keys() == models.keys()
    assert "weights alone" in quantized.method
    x = synthesise(perceptron(), CELL, 0)["x"]
    exact, ours = (
        compiled(item["decode"])({"x": x})["logits"] for item in (models, quantized.models)
    )
    assert relative_difference(ours, exact) < 0.1


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
