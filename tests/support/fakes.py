"""Fakes at the seams: a scripted clock, recorded progress, a scripted launcher, an observer."""

import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any, ClassVar
from zipfile import ZipFile

import pytest

from orchestrator.backends.catalogue import LauncherName
from orchestrator.launchers.base import Exit, LocalLauncher, Task
from runner.contract.artifact_keys import COUNTS, fingerprint
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, EngineUnavailable
from runner.contract.graph import DYNAMIC, GRAPH_FILE, GraphPart, graph_kind, number_format
from runner.contract.job import Job, Provenance
from runner.contract.models.counted import COUNTS_FILE, FORWARD_COUNTS, CountedWork
from runner.contract.reasons import Reason
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase
from runner.contract.rounds import read_rounds, save_round
from runner.process import Progress
from tests.support.jobs import a_graph
from tests.support.records import a_round, record_for

Script = Callable[[Job, Path, "Queue[str | None]"], Exit]


class FakeClock:
    """A clock that advances only when a test says so, and by one nanosecond per reading."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now

    def pass_by(self, nanoseconds: int) -> None:
        self.now += nanoseconds


class KeptProgress(Progress):
    """Progress whose events can be read back."""

    def __init__(self) -> None:
        self._kept = io.StringIO()
        super().__init__(self._kept)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._kept.getvalue().splitlines()]


class ScriptedLauncher(LocalLauncher):
    """A launcher whose launches play scripts instead of starting anything.

    A script gets the job it was launched with, its output folder and the queue of progress lines;
    it returns how the launch ended, or raises what the engine would. Jobs that compute a reference,
    prepare a graph or count play scripts of their own.
    """

    name: ClassVar[LauncherName] = "process"
    needs_images: ClassVar[bool] = False

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.reference_script: Script = computes_the_reference
        self.graph_script: Script = exports_the_graph
        self.count_script: Script = counts_the_work
        self.launched: list[Job] = []
        self.computed: list[Job] = []
        self.exported: list[Job] = []
        self.counted: list[Job] = []
        self.tasks: list[Task] = []
        self.running = 0
        self.cleaned: list[frozenset[str]] = []
        self.refusals: dict[Backend, BenchError] = {}

    def prepare(self, backend: Backend) -> Provenance:
        """Refuse the backends that the test named; else be ready."""
        if backend in self.refusals:
            raise self.refusals[backend]
        return Provenance(launcher=self.name, orchestrator_version="0")

    @contextmanager
    def launch(self, task: Task) -> Iterator["ScriptedExecution"]:
        """Play the next script; the last one repeats."""
        job = Job.model_validate_json(task.staged()["--job"].read_bytes())
        self.tasks.append(task)
        script = self._script_for(job)
        self.running += 1
        try:
            yield ScriptedExecution(script, job, task.out)
        finally:
            self.running -= 1

    def _script_for(self, job: Job) -> Script:
        if job.purpose == "reference":
            self.computed.append(job)
            return self.reference_script
        if job.purpose == "prepare":
            self.exported.append(job)
            return self.graph_script
        if job.purpose == "count":
            self.counted.append(job)
            return self.count_script
        self.launched.append(job)
        return self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]

    def clean(self, devices: frozenset[str]) -> int:
        self.cleaned.append(devices)
        return 0


class ScriptedExecution:
    """A launch that is over already, and hears nothing."""

    def __init__(self, script: Script, job: Job, out: Path) -> None:
        self.lines: Queue[str | None] = Queue()
        self.killed = False
        self._ending: Exit | BenchError
        try:
            self._ending = script(job, out, self.lines)
        except EngineUnavailable as error:
            self.lines.put(None)
            self._ending = error

    def send(self, line: str) -> None:
        """It has ended."""

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> Exit:
        if isinstance(self._ending, BenchError):
            raise self._ending
        return Exit(-9, out_of_memory=False, log="") if self.killed else self._ending


def enter(lines: Queue[str | None], phase: str, cell: Cell | None = None) -> None:
    """Print what the runner prints as it enters a phase."""
    cell_id = cell.id if cell else None
    lines.put(json.dumps({"event": "phase", "phase": phase, "cell_id": cell_id}))


def record(lines: Queue[str | None], job: Job, cell: Cell, out: Path) -> None:
    """Write and print what the runner does at the end of a cell's visit."""
    if job.round < job.measure.rounds:
        save_round(a_round(), out, cell, job.round)
        lines.put(json.dumps({"event": "visited", "cell_id": cell.id}))
        return
    read_rounds(out, cell, job.round - 1)
    save_record(record_for(job, cell, rounds=job.round), out)
    lines.put(json.dumps({"event": "recorded", "status": "ok", "cell_id": cell.id}))


def finish(lines: Queue[str | None]) -> Exit:
    """End the lines, and the launch well."""
    lines.put(None)
    return Exit(0, out_of_memory=False, log="")


def measures_all(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
    """A launch in which nothing goes wrong."""
    enter(lines, "load")
    for cell in job.cells:
        enter(lines, "first", cell)
        record(lines, job, cell, out)
    return finish(lines)


def computes_the_reference(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
    """A launch that leaves a reference, which is a zip file."""
    enter(lines, "load")
    with ZipFile(out / f"{job.reference}.npz", "w") as file:
        file.writestr("outputs.npy", b"")
    return finish(lines)


def exports_the_graph(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
    """A launch that leaves a graph for every shape."""
    enter(lines, "load")
    save_graph(out / (job.graph or "") / DYNAMIC, job)
    return finish(lines)


def counts_the_work(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
    """A launch that leaves counts."""
    enter(lines, "load")
    (out / COUNTS_FILE).write_text(counted_work().model_dump_json())
    return finish(lines)


def counted_work(**changes: Any) -> CountedWork:
    """Counts of a forward pass, as the present code leaves them."""
    polynomials = {name: {"batch_size": 2.5, "": 8.0} for name in FORWARD_COUNTS}
    values = {"counted_by": fingerprint(COUNTS), "polynomials": polynomials}
    return CountedWork.model_validate(values | changes)


def save_graph(folder: Path, job: Job, **changes: Any) -> None:
    """Leave a graph of one small file in the folder, as the runner does."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "forward.onnx").write_bytes(b"onnx")
    part = GraphPart(
        file="forward.onnx", sha256="0" * 64, size_bytes=4, inputs=("x",), outputs=("logits",)
    )
    cell = job.cells[0]
    own = {"content": graph_kind(cell), "numbers": number_format(cell), "shape": folder.name}
    made = {"model": job.model.name, "versions": {"torch": "2.13.0"}, "export_s": 4.5}
    graph = a_graph({"forward": part}, **{**own, **made, **changes})
    (folder / GRAPH_FILE).write_text(graph.model_dump_json())


def dies_in(batch_size: int, ending: Exit | None, phase: str = "steady") -> Script:
    """A launch that ends while it measures that batch size; None: the engine goes away."""

    def script(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        enter(lines, "load")
        for cell in job.cells:
            enter(lines, phase, cell)
            if cell.batch_size == batch_size:
                if ending is None:
                    raise EngineUnavailable("the engine went away")
                lines.put(None)
                return ending
            record(lines, job, cell, out)
        return finish(lines)

    return script


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no disk has space, as far as anybody asks."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))


class KeptObserver:
    """An observer whose events can be read back."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.estimates_s: dict[str, float] = {}
        self.jobs: list[Job] = []
        self.phases: list[str] = []
        self.visited: list[tuple[str, int]] = []
        self.ended: list[tuple[str, str]] = []

    def note(self, text: str, reason: Reason | None = None) -> None:
        self.notes.append(text)

    def image_step(self, line: str) -> None:
        self.notes.append(line)

    def job_started(self, job: Job) -> None:
        self.jobs.append(job)

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        self.estimates_s.update(estimates_s)

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        self.phases.append(phase)

    def cell_visited(self, cell: Cell, job: Job) -> None:
        self.visited.append((cell.id, job.round))

    def cell_ended(self, cell: Cell, record: Record) -> None:
        self.ended.append((cell.id, record.status))
