"""Graphs appear whole or not at all."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runner.contract.errors import Unsupported
from runner.contract.graph import Attempt, Graph, read_graph
from runner.contract.reasons import parse_reason, reason
from runner.export.folder import is_intact, publish_graph, save_refusal
from tests.conftest import ROOT
from tests.support.exports import names
from tests.support.onnx_graphs import KEY, layer, save_graph
from tests.support.words import words_of

KILLED = """
import os, signal, sys
from pathlib import Path
from runner.export.folder import publish_graph

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


def test_a_finished_graph_is_intact(tmp_path: Path) -> None:
    graphs, scratch = tmp_path / "graphs", tmp_path / "scratch"
    publish_graph(graphs, "dynamic", lambda folder: made(folder, scratch))
    assert list(names(graphs)) == ["dynamic"]
    assert is_intact(graphs / "dynamic")
    assert read_graph(graphs / "dynamic").parts["forward"].inputs == ("x",)


@pytest.mark.slow
def test_a_killed_export_leaves_nothing_that_could_be_used(tmp_path: Path) -> None:
    script = [sys.executable, "-c", KILLED, str(tmp_path / "graphs")]
    assert subprocess.run(script, cwd=ROOT, check=False).returncode == -9
    assert list(names(tmp_path / "graphs")) == [".dynamic.unfinished"]
    with pytest.raises(Unsupported):
        read_graph(tmp_path / "graphs" / "dynamic")
    publish_graph(tmp_path / "graphs", "dynamic", lambda folder: made(folder, tmp_path))
    assert list(names(tmp_path / "graphs")) == ["dynamic"]


def test_libraries_put_temporary_files_beside_the_graph(tmp_path: Path) -> None:
    usual = tempfile.gettempdir()

    def make(folder: Path) -> Graph:
        assert Path(tempfile.gettempdir()) == folder
        return made(folder, tmp_path)

    publish_graph(tmp_path / "graphs", "dynamic", make)
    assert tempfile.gettempdir() == usual


def test_damage_shows(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    folder = tmp_path / KEY / "dynamic"
    path = folder / "forward.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert not is_intact(folder)
    path.unlink()
    assert not is_intact(folder)


def test_a_refusal_has_a_line_for_each_way(tmp_path: Path) -> None:
    attempts = [Attempt(remedy=way, failure=reason("said", text="no")) for way in ("this", "that")]
    save_refusal(tmp_path / "key", "b2", attempts)
    assert (
        words_of(parse_reason((tmp_path / "key" / "b2.failed").read_text())) == "this: no\nthat: no"
    )
