"""The content of the page: what it may fetch, and how graphs are described to it."""

import json
from pathlib import Path

import pytest

from orchestrator.server.content import PageGraph, page_content
from runner.contract.errors import UsageError
from tests.support.onnx_graphs import KEY, WIDTH


def test_the_page_the_runtime_and_the_chosen_graph_are_all_there_is(
    page_graph: PageGraph, runtime: Path
) -> None:
    content = page_content([page_graph], runtime)
    own = {"", "choices.json", "report.css", "device.css", "runtime/ort.wasm.min.mjs", "graphs/0"}
    scripts = {address for address in content if address.endswith(".mjs")}
    assert set(content) - scripts <= own
    assert {"device.mjs", "shared/queries.mjs", "shared/sessions.mjs"} <= scripts
    assert "shared/page.mjs" not in content
    assert content["graphs/0"].source == page_graph.folder / "forward.onnx"
    assert content[""].type.startswith("text/html")


def test_choices_describe_graph_shape_and_inputs(page_graph: PageGraph, runtime: Path) -> None:
    source = page_content([page_graph], runtime)["choices.json"].source
    choices = json.loads(bytes(source))
    (graph,) = choices["graphs"]
    assert (graph["model"], graph["precision"], graph["sizes"]) == (KEY, "fp32", {"batch_size": 2})
    assert graph["parts"] == [{"name": "forward", "url": "graphs/0", "weights": []}]
    (tensor,) = graph["inputs"]
    assert (tensor["kind"], tensor["type"], tensor["dims"]) == ("normal", "float32", [2, WIDTH])
    assert choices["sessions"]["webnn"]["extra"]["session"]["disable_cpu_ep_fallback"] == "1"
    assert choices["bundles"].keys() == {"wasm", "webgpu", "webnn"}


def test_weights_beside_a_graph_are_served_once_for_all_shapes(
    page_graph: PageGraph, runtime: Path
) -> None:
    weights = page_graph.folder / "forward.onnx.data"
    weights.write_bytes(b"weights")
    try:
        content = page_content([page_graph, page_graph], runtime)
    finally:
        weights.unlink()
    assert {address for address in content if address[:7] == "graphs/"} == {"graphs/0", "graphs/1"}


def test_a_runtime_that_is_not_installed_is_named(page_graph: PageGraph, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ONNX Runtime Web, which is not in") as refusal:
        page_content([page_graph], tmp_path / "nothing")
    assert "make browser" in str(refusal.value.hint)
