"""A page's graph of a few nodes, and a runtime that is files alone."""

from pathlib import Path

import pytest

from orchestrator.server.content import PageGraph, PageInput
from tests.support.onnx_graphs import KEY, WIDTH, layer, onnx_cell, perceptron, save_graph


@pytest.fixture(scope="session")
def page_graph(tmp_path_factory: pytest.TempPathFactory) -> PageGraph:
    graphs = tmp_path_factory.mktemp("graphs")
    graph = save_graph(graphs, {"forward": layer()})
    (spec,) = perceptron().inputs
    return PageGraph(
        onnx_cell(2, backend="wasm", runtime="onnxruntime_web"),
        ("wasm", "webnn", "webgpu"),
        graph,
        graphs / KEY / "dynamic",
        (PageInput(spec, "float32", (2, WIDTH)),),
    )


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A folder in the place of ONNX Runtime Web."""
    folder = tmp_path / "onnxruntime-web"
    folder.mkdir()
    (folder / "ort.wasm.min.mjs").write_text("runtime")
    return folder
