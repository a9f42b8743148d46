"""A graph is exported before the first job that executes it, once, and kept for later runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.planning.plan import Plan
from orchestrator.running.artifacts.graphs import Graphs, exports_left
from orchestrator.running.execute_job import LaunchContext
from orchestrator.screen.words.reasons import error_text
from runner.contract.axes import Backend, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unavailable, Unsupported
from runner.contract.graph import Graph, dynamic_format, find_graph, fixed_shape
from runner.contract.job import Job, Limits, Provenance
from tests.support.fakes import (
    KeptObserver,
    Script,
    ScriptedLauncher,
    enter,
    measures_all,
    save_graph,
)
from tests.support.jobs import fake_cell
from tests.support.runs import WEIGHTS_SEED, a_plan, a_run_folder
from tests.support.words import raises_words

HERE = Provenance(launcher="process", orchestrator_version="0")
WELL = Exit(0, out_of_memory=False, log="")


class Trial:
    """A run with cells of one runtime, and the graphs beside it."""

    def __init__(
        self, results: Path, backend: Backend = "cpu", runtime: Runtime = "onnxruntime"
    ) -> None:
        cells = [a_cell(size, backend=backend, runtime=runtime) for size in (1, 8)]
        name = f"run-{len(list(results.glob('run-*')))}"
        plan = a_plan(cells, limits=Limits(cell_timeout_s=30))
        self.folder = a_run_folder(results, plan, name)
        self.launcher = ScriptedLauncher(measures_all)
        self.observer = KeptObserver()
        self.asked: list[Backend] = []
        self.refusal: BenchError | None = None
        context = LaunchContext(self.launcher, self.folder, self.observer)
        self.graphs = Graphs(results, context, self)

    @property
    def job(self) -> Job:
        """The job that executes a graph."""
        return self.folder.run.job(self.folder.cells, HERE)

    def ensure(self, job: Job | None = None) -> tuple[Job, Path]:
        """The job with its graph named, and the folder."""
        prepared, folder = self.graphs.ensure(job or self.job)
        assert folder is not None
        return prepared, folder

    def graph(self, cell: Cell | None = None) -> Graph:
        """What a session of the job would find."""
        job, folder = self.ensure()
        return find_graph(job, cell or job.cells[0], folder)[0]

    def why_none(self, cell: Cell | None = None) -> str:
        """What a session of the job would say."""
        job, folder = self.ensure()
        with pytest.raises(Unsupported) as raised:
            find_graph(job, cell or job.cells[0], folder)
        return error_text(raised.value)

    def why_unavailable(self) -> str:
        """Why the cells cannot be launched now."""
        with pytest.raises(Unavailable) as raised:
            self.ensure()
        return error_text(raised.value)

    def prepare(self, backend: Backend) -> Provenance:
        self.asked.append(backend)
        if self.refusal:
            raise self.refusal
        return HERE


def a_cell(batch_size: int = 1, **changes: object) -> Cell:
    return fake_cell(batch_size, **{"backend": "cpu", "runtime": "onnxruntime"} | changes)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    trial = Trial(tmp_path)
    yield trial
    assert trial.launcher.running == 0


def exports_each_shape(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    """The dynamic export fails, the static ones work."""
    for cell in job.cells:
        save_graph(out / (job.graph or "") / fixed_shape(cell), job)
    lines.put(None)
    return WELL


def ends(end: Exit) -> Script:
    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        enter(lines, "load")
        lines.put(None)
        return end

    return script


def leaves(*names: str) -> Script:
    """A launch that says why there is no graph."""

    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        folder = out / (job.graph or "")
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / f"{name}.failed").write_text("the exporter refused\n")
        lines.put(None)
        return WELL

    return script


def test_it_is_exported_once_before_the_first_job(trial: Trial) -> None:
    first, again = trial.ensure(), trial.ensure()
    assert first == again
    assert trial.graph().model == "scripted"
    assert len(trial.launcher.exported) == 1
    assert trial.observer.notes == ["exporting the graph of scripted (forward, fp32)"]
    assert trial.observer.jobs == []


@pytest.mark.parametrize(
    ("backend", "runtime"), [("openvino", "openvino"), ("cuda", "onnxruntime")]
)
def test_one_graph_serves_every_runtime_that_takes_the_same_numbers(
    trial: Trial, tmp_path: Path, backend: Backend, runtime: Runtime
) -> None:
    job, _ = trial.ensure()
    other = Trial(tmp_path, backend, runtime)
    assert other.ensure()[0].graph == job.graph
    assert other.launcher.exported == []


@pytest.mark.parametrize(
    "changes", [{"precision": "int8"}, {"mode": "generation", "new_tokens": 2}], ids=str
)
def test_other_numbers_and_another_content_are_another_graph(
    trial: Trial, changes: dict[str, object]
) -> None:
    other = trial.job.model_copy(update={"cells": (a_cell(**changes),)})
    assert trial.ensure()[0].graph != trial.ensure(other)[0].graph
    assert len(trial.launcher.exported) == 2


@pytest.mark.parametrize("runtime", ["torch", "torch_compile"])
def test_who_builds_the_model_itself_needs_none(tmp_path: Path, runtime: Runtime) -> None:
    trial = Trial(tmp_path, runtime=runtime)
    assert trial.graphs.ensure(trial.job) == (trial.job, None)
    assert trial.launcher.exported == []
    assert not (tmp_path / "graphs").exists()


def test_the_job_that_exports_it_runs_on_the_cpu_whoever_executes_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "openvino", "openvino")
    job, folder = trial.ensure(trial.job.model_copy(update={"trace": True, "round": 2}))
    (exported,) = trial.launcher.exported
    assert (exported.purpose, exported.trace, exported.round) == ("prepare", False, 1)
    assert exported.id == "prepare-scripted-forward-fp32"
    assert (exported.graph, exported.cells) == (job.graph, job.cells)
    (task,) = trial.launcher.tasks
    assert (task.backend, task.out.parent, task.graphs) == ("cpu", folder, folder)
    assert not task.out.exists()
    assert trial.asked == ["cpu"]


def test_where_sizes_are_fixed_only_those_that_are_missing_are_exported(trial: Trial) -> None:
    trial.launcher.graph_script = exports_each_shape
    assert trial.graph(a_cell(8)).shape == "b8-s8"
    larger = trial.job.model_copy(update={"cells": (a_cell(1), a_cell(16))})
    trial.ensure(larger)
    assert [job.cells for job in trial.launcher.exported] == [(a_cell(1), a_cell(8)), (a_cell(16),)]


@pytest.mark.parametrize("names", [["dynamic"], ["b1-s8", "b8-s8"]], ids=["all", "each"])
def test_the_exporters_reason_reaches_the_session_and_the_user(
    trial: Trial, names: list[str]
) -> None:
    trial.launcher.graph_script = leaves(*names)
    assert trial.why_none() == "no prepared graph: the exporter refused"
    assert trial.observer.notes[1] == (
        "no graph of scripted (forward, fp32), so its cells are unsupported: the exporter refused"
    )


def test_the_reason_against_the_shape_of_the_verification_is_kept_too(
    trial: Trial, tmp_path: Path
) -> None:
    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        leaves("b2-s32", "no-shape")(job, out, lines)
        return exports_each_shape(job, out, lines)

    trial.launcher.graph_script = script
    job, folder = trial.ensure()
    with raises_words(Unsupported, match="the exporter refused"):
        find_graph(job, a_cell(2, sequence_length=32), folder)
    assert [path.stem for path in tmp_path.rglob("*.failed")] == ["b2-s32"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (
            Exit(137, out_of_memory=True, log=""),
            "killed for exceeding the memory limit, in phase load",
        ),
        (Exit(139, out_of_memory=False, log=""), "the runner died by SIGSEGV in phase load"),
        (WELL, "the runner ended well but left nothing that can be read"),
    ],
    ids=["oom", "killed", "silent"],
)
def test_how_an_export_died_is_told_once_and_tried_once(
    trial: Trial, end: Exit, reason: str
) -> None:
    trial.launcher.graph_script = ends(end)
    for _ in trial.job.cells:
        assert trial.why_unavailable() == f"its graph could not be exported: {reason}"
    assert len(trial.launcher.exported) == 1
    assert trial.observer.notes[1:] == [
        f"no graph of scripted (forward, fp32), so its cells are unavailable: {reason}"
    ]


def test_what_a_killed_export_left_unfinished_is_removed(trial: Trial, tmp_path: Path) -> None:
    def dies(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        (out / (job.graph or "") / ".dynamic.unfinished").mkdir(parents=True)
        lines.put(None)
        return Exit(137, out_of_memory=True, log="")

    trial.launcher.graph_script = dies
    trial.why_unavailable()
    assert list((tmp_path / "graphs").rglob("*.unfinished")) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "forward.onnx").write_bytes(b"on"),
        lambda folder: (folder / "forward.onnx").unlink(),
        lambda folder: (folder / "graph.json").write_text("{"),
    ],
    ids=["truncated", "gone", "unreadable"],
)
def test_a_damaged_graph_is_exported_anew(
    trial: Trial, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    job, folder = trial.ensure()
    damage(folder / (job.graph or "") / "dynamic")
    later = Trial(tmp_path)
    assert later.graph().shape == "dynamic"
    assert len(later.launcher.exported) == 1


def plan_of(*cells: Cell) -> Plan:
    return a_plan(cells, skips={a_cell(64): "the model ends at 32"})


def test_the_kinds_of_graphs_that_a_run_would_export_are_told_apart(tmp_path: Path) -> None:
    plan = plan_of(
        a_cell(1),
        a_cell(8),
        a_cell(precision="int8"),
        a_cell(mode="generation", new_tokens=2),
        a_cell(backend="openvino", runtime="openvino"),
        a_cell(runtime="torch"),
    )
    assert exports_left(plan, tmp_path, ProcessLauncher, WEIGHTS_SEED) == [
        ("scripted", "forward", "fp32"),
        ("scripted", "forward", dynamic_format()),
        ("scripted", "generation", "fp32"),
    ]


def test_nothing_is_left_of_what_was_exported(trial: Trial, tmp_path: Path) -> None:
    plan = plan_of(*trial.job.cells)
    assert exports_left(plan, tmp_path, ProcessLauncher, WEIGHTS_SEED) == [
        ("scripted", "forward", "fp32")
    ]
    trial.ensure()
    assert exports_left(plan, tmp_path, ProcessLauncher, WEIGHTS_SEED) == []


def test_a_shape_that_is_missing_is_left(trial: Trial, tmp_path: Path) -> None:
    trial.launcher.graph_script = exports_each_shape
    trial.ensure()
    assert exports_left(plan_of(a_cell(8)), tmp_path, ProcessLauncher, WEIGHTS_SEED) == []
    assert exports_left(
        plan_of(a_cell(8), a_cell(16)), tmp_path, ProcessLauncher, WEIGHTS_SEED
    ) == [("scripted", "forward", "fp32")]
