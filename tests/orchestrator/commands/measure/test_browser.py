"""`browser serve`: its address on stdout, its end, and what it refuses."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.graphs import graph_name
from runner.contract.artifact_keys import GRAPHS
from runner.contract.models import catalogue
from runner.contract.web.pages import RUNTIME_FOLDER
from tests.conftest import ROOT
from tests.support.command_line import complains
from tests.support.onnx_graphs import KEY, layer, onnx_cell, save_graph
from tests.support.workplace import Workplace, heed_signals


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
