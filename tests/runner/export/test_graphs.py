"""One graph for all shapes, or else one for each, or else the reason."""

from pathlib import Path
from typing import Any, NoReturn

import pytest

from runner.contract.cell import Cell
from runner.contract.graph import Graph, read_graph
from runner.contract.job import Job
from runner.contract.reasons import parse_reason
from tests.support.exports import Scripted, graph_cell, names, tiny_vision
from tests.support.jobs import a_job
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
