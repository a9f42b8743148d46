"""Graphs that the page offers: found by their names, with one entry for all backends."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from orchestrator.commands.measure.browser_command import PageGraphs, gather_graphs, page_graphs
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER, graph_name
from runner.contract.artifact_keys import GRAPHS
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo
from runner.contract.models import catalogue
from runner.contract.web import RUNTIME_FOLDER
from tests.conftest import ROOT
from tests.support.command_line import complains
from tests.support.fakes import KeptObserver
from tests.support.onnx_graphs import KEY, WIDTH, layer, onnx_cell, perceptron, save_graph
from tests.support.workplace import Workplace, heed_signals

MODEL = perceptron()


def a_cell(backend: Backend, batch_size: int = 1, **changes: object) -> Cell:
    return onnx_cell(batch_size, **{"backend": backend, "runtime": "onnxruntime_web"} | changes)


def gathered(results: Path, *cells: Cell) -> PageGraphs:
    """What the page offers of the cells, after the graph of the first one was exported."""
    graphs = results / GRAPHS_FOLDER
    save_graph(graphs, {"forward": layer()})
    versions = versions_of(GRAPHS, in_images=False)
    (graphs / KEY).rename(graphs / graph_name(MODEL, cells[0], 0, versions))
    return gather_graphs(cells, {KEY: MODEL}, graphs, 0)


def test_one_graph_has_all_backends_that_take_it(tmp_path: Path) -> None:
    cells = (a_cell("wasm"), a_cell("webgpu"), a_cell("webnn"), a_cell("wasm", 4))
    one, four = gathered(tmp_path, *cells).graphs
    assert (one.backends, four.backends) == (("wasm", "webgpu", "webnn"), ("wasm",))
    assert one.folder == four.folder
    assert [(tensor.type, tensor.dims) for tensor in one.inputs] == [("float32", (1, WIDTH))]
    assert four.inputs[0].dims == (4, WIDTH)


def test_what_has_no_graph_is_noted(tmp_path: Path) -> None:
    offered = gathered(tmp_path, a_cell("wasm"), a_cell("wasm", precision="int8"))
    assert [graph.cell.precision for graph in offered.graphs] == ["fp32"]
    assert offered.notes == ("perceptron in int8: no prepared graph: not exported",)


def test_without_any_graph_the_remedy_is_named(tmp_path: Path) -> None:
    request = PlanRequest(BenchOptions.of_axes({"backend": ("wasm",)}), results=tmp_path)
    with pytest.raises(NothingToDo, match="no prepared graph is at hand") as refusal:
        page_graphs(request, KeptObserver())
    assert "--model bert-tiny" in str(refusal.value.hint)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 3, "no prepared graph is at hand"),
        (("--precision", "fp8"), 2, "--precision: "),
        (("--model", "bert-tinny"), 2, "bert-tiny"),
        (("--port", "70000"), 2, "--port"),
    ],
)
def test_what_cannot_be_served_is_refused(
    place: Workplace, words: tuple[str, ...], code: int, message: str
) -> None:
    complains(place.do("browser", "serve", *words), code, message)


@pytest.fixture
def graph_at_hand(tmp_path: Path) -> Path:
    """A folder whose results hold a graph by the name of bert-tiny's."""
    graphs = tmp_path / "results" / "graphs"
    save_graph(graphs, {"forward": layer("input_ids")})
    cell = onnx_cell(backend="wasm", runtime="onnxruntime_web", model="bert-tiny")
    versions = versions_of(GRAPHS, in_images=False)
    name = graph_name(catalogue()["bert-tiny"], cell, 0, versions)
    (graphs / KEY).rename(graphs / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(not RUNTIME_FOLDER.is_dir(), reason="`make browser` was not called")
@pytest.mark.representatives(1)
@pytest.mark.parametrize("words", [(), ("--model", "bert-tiny")])
def test_the_address_is_printed_and_ctrl_c_ends_it(
    graph_at_hand: Path, words: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "orchestrator", "browser", "serve", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd=graph_at_hand,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509
    ) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(3)]
        assert lines[0] == "1 graph to measure; open this address in the browser:"
        assert lines[2] == "Ctrl-C ends it."
        with urllib.request.urlopen(lines[1], timeout=10) as answer:
            assert b"Measure this device" in answer.read()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0
