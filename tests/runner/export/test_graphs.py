"""One graph for all shapes, or else one for each, or else the reason."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, fixed_shape, read_graph
from runner.contract.job import Job
from runner.contract.models import catalogue, find
from runner.contract.reasons import parse_reason
from runner.correctness.reference import fixed_cell
from runner.export.graphs import cell_of_other_sizes, is_intact, job_shapes, publish_graph
from runner.inputs import synthesise
from tests.conftest import ROOT
from tests.support.exports import Scripted, graph_cell, names, tiny_vision
from tests.support.jobs import a_job, fake_cell
from tests.support.onnx_graphs import KEY, layer, save_graph
from tests.support.words import words_of

STATIC, EAGER = "static shape", "static shape, eager attention"
SCRIPT = "static shape, eager attention, TorchScript exporter"
DYNAMIC = "dynamic shapes"


def job(*cells: Cell) -> Job:
    return a_job(cells or (graph_cell(3),), tiny_vision())


def ways(graph: Graph) -> list[tuple[str, str | None]]:
    return [(attempt.remedy, words_of(attempt.failure)) for attempt in graph.attempts]


def test_a_graph_of_dynamic_shape_serves_every_cell(tmp_path: Path) -> None:
    scripted = Scripted()
    scripted.run(job(graph_cell(3), graph_cell(5)), tmp_path)
    assert list(names(tmp_path)) == ["dynamic"]
    graph = read_graph(tmp_path / "dynamic")
    assert (graph.remedy, graph.shape, graph.numbers) == (DYNAMIC, "dynamic", "fp32")
    # Behind the three sizes stands the first one padded.
    assert (scripted.checked, scripted.batches) == (["fp32"], [[2, 3, 1, 2]])
    ((_, subject),) = scripted.tried  # traced at one size, and told what varies
    shapes = subject.inputs["pixel_values"].shape, subject.others["pixel_values"].shape
    assert shapes == ((2, 3, 16, 16), (3, 3, 16, 16))
    assert subject.outputs == ("logits",)


@pytest.mark.slow
def test_where_it_fails_each_shape_gets_its_own_by_the_first_remedy_that_is_right(
    tmp_path: Path,
) -> None:
    Scripted(unwritten=[DYNAMIC]).run(job(graph_cell(3), graph_cell(5)), tmp_path / "each")
    assert list(names(tmp_path / "each")) == ["b2", "b3", "b5"]
    graph = read_graph(tmp_path / "each" / "b5")
    assert ways(graph) == [(DYNAMIC, f"RuntimeError: cannot do {DYNAMIC}"), (STATIC, None)]
    scripted = Scripted(unwritten=[DYNAMIC], wrong=[STATIC, EAGER])
    scripted.run(job(graph_cell(2)), tmp_path)
    assert scripted.strategies == [DYNAMIC, STATIC, EAGER, SCRIPT]
    assert read_graph(tmp_path / "b2").remedy == SCRIPT


def lines_in(path: Path) -> list[str]:
    return str(words_of(parse_reason(path.read_text()))).splitlines()


def test_what_is_wrong_on_fresh_inputs_never_appears(tmp_path: Path) -> None:
    Scripted(unwritten=[DYNAMIC], wrong=[STATIC, EAGER, SCRIPT]).run(job(graph_cell(2)), tmp_path)
    assert list(names(tmp_path)) == ["b2.failed"]
    assert lines_in(tmp_path / "b2.failed") == [
        f"{DYNAMIC}: RuntimeError: cannot do {DYNAMIC}",
        f"{STATIC}: on fresh inputs, it is wrong",
        f"{EAGER}: on fresh inputs, it is wrong",
        f"{SCRIPT}: on fresh inputs, it is wrong",
    ]


def test_what_is_there_stays_unless_it_is_damaged_or_a_reason(tmp_path: Path) -> None:
    (tmp_path / "dynamic.failed").write_text("no luck")
    Scripted().run(job(), tmp_path)
    assert list(names(tmp_path)) == ["dynamic"]
    again = Scripted()
    again.run(job(), tmp_path)
    assert again.strategies == []
    path = tmp_path / "dynamic" / "forward.onnx"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    again.run(job(), tmp_path)
    assert (again.strategies, path.read_bytes()) == ([DYNAMIC], whole)


def test_an_interrupted_export_leaves_nothing(tmp_path: Path) -> None:
    class Interrupted(Scripted):
        def write(self, *arguments: Any) -> NoReturn:
            super().write(*arguments)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted().run(job(), tmp_path)
    assert list(names(tmp_path)) == []


MICRO = [name for name in catalogue() if name.endswith("-micro")]


@pytest.mark.parametrize(
    ("sizes", "shapes"),
    [([(1, 16), (8, 64)], ["b2-s32", "b1-s16", "b8-s64"]), ([(2, 32), (2, 32)], ["b2-s32"])],
)
def test_each_shape_is_made_once_and_that_of_verification_first(
    sizes: list[tuple[int, int]], shapes: list[str]
) -> None:
    cells = [fake_cell(batch, sequence_length=length) for batch, length in sizes]
    assert list(job_shapes(a_job(cells, find("bert-tiny")))) == shapes


@pytest.mark.parametrize("name", MICRO)
def test_every_model_takes_what_it_is_checked_with(name: str) -> None:
    model = find(name)
    length = 16 if model.takes_sequence else None
    cell = fixed_cell(a_job([fake_cell(sequence_length=length)], model))
    other = cell_of_other_sizes(model, cell)
    assert fixed_shape(other) != fixed_shape(cell)
    assert synthesise(model, other, 0).keys() == synthesise(model, cell, 0).keys()


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
