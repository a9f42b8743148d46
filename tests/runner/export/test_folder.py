"""Graphs appear whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, read_graph
from runner.export.graphs import is_intact, publish_graph
from tests.conftest import ROOT
from tests.support.exports import names
from tests.support.onnx_graphs import KEY, layer, save_graph

KILLED = """
import os, signal, sys
from pathlib import Path
from runner.export.graphs import publish_graph

def make(folder):
    (folder / "forward.onnx").write_bytes(b"half a graph")
    os.kill(os.getpid(), signal.SIGKILL)

publish_graph(Path(sys.argv[1]), "dynamic", make)
"""


def made(folder: Path, scratch: Path) -> Graph:
    """Files of a graph in the folder."""
    graph = save_graph(scratch, {"forward": layer()})
    (folder / "forward.onnx").write_bytes((scratch / KEY / "dynamic/forward.onnx").read_bytes())
    return graph


@pytest.mark.slow
def test_a_killed_export_leaves_nothing_that_could_be_used(tmp_path: Path) -> None:
    script = [sys.executable, "-c", KILLED, str(tmp_path / "graphs")]
    assert subprocess.run(script, cwd=ROOT, check=False).returncode == -9
    assert list(names(tmp_path / "graphs")) == [".dynamic.unfinished"]
    with pytest.raises(Unsupported):
        read_graph(tmp_path / "graphs" / "dynamic")
    publish_graph(tmp_path / "graphs", "dynamic", lambda folder: made(folder, tmp_path))
    assert list(names(tmp_path / "graphs")) == ["dynamic"]


def test_damage_shows(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    folder = tmp_path / KEY / "dynamic"
    path = folder / "forward.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert not is_intact(folder)
    path.unlink()
    assert not is_intact(folder)
