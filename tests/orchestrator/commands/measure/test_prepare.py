"""`prepare` exports what a plan's cells execute, and tells what became of it."""

from pathlib import Path
from queue import Queue

import pytest

from orchestrator.commands.measure.prepare import (
    PREPARATIONS_FOLDER,
    PreparedGraph,
    export_missing,
    plan_preparation,
)
from orchestrator.launchers.base import Exit
from orchestrator.planning.plan import RunSource
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile
from runner.contract.cell import Cell
from runner.contract.errors import ImageError, NothingToDo
from runner.contract.job import Job
from tests.support.fakes import KeptObserver, ScriptedLauncher, measures_all
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan

OPTIONS = RunOptions(launcher="process")
SOURCE = RunSource(command="prepare")


def a_cell(batch_size: int = 1, **changes: object) -> Cell:
    return fake_cell(batch_size, **{"backend": "openvino", "runtime": "openvino"} | changes)


class Trial:
    """A plan whose graphs are prepared."""

    def __init__(self, results: Path, *cells: Cell) -> None:
        self.results = results
        self.plan = a_plan(cells)
        self.launcher = ScriptedLauncher(measures_all)
        self.observer = KeptObserver()

    def begin(self) -> RunFile:
        return plan_preparation(self.plan, SOURCE, self.results, OPTIONS)

    def prepare(self) -> tuple[PreparedGraph, ...]:
        return export_missing(self.begin(), self.results, self.launcher, self.observer)


def refuses(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    folder = out / (job.graph or "")
    folder.mkdir()
    (folder / "dynamic.failed").write_text("dynamic shapes: a guard\nstatic shape: no\n")
    lines.put(None)
    return Exit(0, out_of_memory=False, log="")


def test_each_graph_is_told_once_with_how_it_was_made(tmp_path: Path) -> None:
    trial = Trial(tmp_path, a_cell(1), a_cell(8), a_cell(mode="startup"), a_cell(precision="int8"))
    assert trial.prepare() == (
        PreparedGraph(
            "scripted",
            "forward",
            "fp32",
            "dynamic",
            remedy="dynamic shapes",
            difference_relative=1e-7,
            size_bytes=4,
            export_s=4.5,
        ),
    )
    assert len(trial.launcher.exported) == 1
    assert trial.launcher.launched == []
    assert {path.name for path in tmp_path.iterdir()} == {"graphs", PREPARATIONS_FOLDER}
    assert list(tmp_path.glob("*/run.json")) == []


def test_a_graph_that_cannot_be_had_is_a_failure_with_the_reason(tmp_path: Path) -> None:
    trial = Trial(tmp_path, a_cell(1), a_cell(8))
    trial.launcher.graph_script = refuses
    prepared = trial.prepare()
    reason = "no prepared graph: dynamic shapes: a guard\nstatic shape: no"
    assert [(graph.shape, graph.remedy, graph.failure) for graph in prepared] == [
        ("b1-s8", None, reason),
        ("b8-s8", None, reason),
    ]


def test_where_no_graph_could_be_executed_the_reasons_are_told(tmp_path: Path) -> None:
    trial = Trial(tmp_path, fake_cell(backend="cpu", runtime="torch"))
    trial.plan = a_plan(
        [fake_cell(backend="cpu", runtime="torch")],
        skips={a_cell(1): "no int8", a_cell(8): "too long", fake_cell(2): "not told"},
    )
    with pytest.raises(NothingToDo, match=r"^none of the 2 cells can run: no int8; too long$"):
        trial.begin()
    assert list(tmp_path.iterdir()) == []


def test_what_waits_for_its_turn_has_no_folder_yet(tmp_path: Path) -> None:
    seen: list[bool] = []

    def looks(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        seen.append((tmp_path / PREPARATIONS_FOLDER).exists())
        return measures_all(job, out, lines)

    trial = Trial(tmp_path, a_cell())
    run = trial.begin()
    assert list(tmp_path.iterdir()) == []
    trial.launcher.graph_script = looks
    export_missing(run, tmp_path, trial.launcher, trial.observer)
    assert seen == [True]


def test_without_an_image_each_graph_fails_after_one_try(tmp_path: Path) -> None:
    asked = []

    class Imageless(ScriptedLauncher):
        def prepare(self, backend: str) -> None:  # type: ignore[override]
            asked.append(backend)
            raise ImageError("no image")

    trial = Trial(tmp_path, a_cell(), a_cell(mode="generation", new_tokens=2))
    trial.launcher = Imageless(measures_all)
    assert ["no image" in (graph.failure or "") for graph in trial.prepare()] == [True] * 2
    assert asked == ["cpu"]
