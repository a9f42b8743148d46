"""Graphs that the page offers: found by their names, with one entry for all backends."""

from pathlib import Path

import pytest

from orchestrator.commands.measure.page_graphs import (
    GraphFolders,
    PageGraphs,
    gather_graphs,
    page_graphs,
)
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.bench import BenchOptions
from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER, graph_name
from runner.contract.artifact_keys import GRAPHS
from runner.contract.cell import Backend, Cell
from runner.contract.errors import NothingToDo
from runner.contract.models import ModelSpec, TensorSpec
from tests.support.fakes import KeptObserver
from tests.support.onnx_graphs import KEY, WIDTH, layer, onnx_cell, perceptron, save_graph

MODEL = perceptron()


def a_cell(backend: Backend, batch_size: int = 1, **changes: object) -> Cell:
    return onnx_cell(batch_size, **{"backend": backend, "runtime": "onnxruntime_web"} | changes)


def gathered(
    results: Path, *cells: Cell, model: ModelSpec = MODEL, in_images: bool = False
) -> PageGraphs:
    """What the page offers of the cells, after the graph of the first one was exported."""
    graphs = results / GRAPHS_FOLDER
    save_graph(graphs, {"forward": layer()})
    versions = versions_of(GRAPHS, in_images=in_images)
    (graphs / KEY).rename(graphs / graph_name(model, cells[0], 0, versions))
    return gather_graphs(cells, {KEY: model}, GraphFolders(graphs, 0))


@pytest.mark.parametrize("in_images", [False, True])
def test_one_graph_has_all_backends_that_take_it(tmp_path: Path, in_images: bool) -> None:
    cells = (a_cell("wasm"), a_cell("webgpu"), a_cell("webnn"), a_cell("wasm", 4))
    one, four = gathered(tmp_path, *cells, in_images=in_images).graphs
    assert (one.backends, four.backends) == (("wasm", "webgpu", "webnn"), ("wasm",))
    assert one.folder == four.folder
    assert [(tensor.type, tensor.dims) for tensor in one.inputs] == [("float32", (1, WIDTH))]
    assert four.inputs[0].dims == (4, WIDTH)


def test_what_has_no_graph_is_noted(tmp_path: Path) -> None:
    offered = gathered(tmp_path, a_cell("wasm"), a_cell("wasm", precision="int8"))
    assert [graph.cell.precision for graph in offered.graphs] == ["fp32"]
    assert offered.notes == ("perceptron in int8: no prepared graph: not exported",)


def test_inputs_that_the_page_cannot_draw_are_noted(tmp_path: Path) -> None:
    image = TensorSpec(name="x", kind="prompt_ids", shape=("batch_size", WIDTH), high=5)
    model = MODEL.model_copy(update={"inputs": (image,)})
    offered = gathered(tmp_path, a_cell("wasm"), model=model)
    assert offered.graphs == ()
    assert offered.notes == ("perceptron in fp32: the page cannot draw the input x",)


def test_without_any_graph_the_remedy_is_named(tmp_path: Path) -> None:
    request = PlanRequest(BenchOptions.of_axes({"backend": ("wasm",)}), results=tmp_path)
    with pytest.raises(NothingToDo, match="no prepared graph is at hand") as refusal:
        page_graphs(request, KeptObserver())
    assert "--model bert-tiny" in str(refusal.value.hint)
