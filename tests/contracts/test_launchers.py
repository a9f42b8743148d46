"""The promises of every launcher, with the real runner and the fake backend.

Tests of user-visible behaviour run the real launchers; those of the protocol also run the scripted
one, which other tests use instead.
"""

import json
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any, get_args

import psutil
import pytest

from orchestrator.backends.catalogue import CATALOGUE, LauncherName
from orchestrator.launchers.base import Exit, Launcher, Task, TaskExecution
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.environment import cpus_of_process
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.launchers.registry import LAUNCHERS
from orchestrator.store.records.validate import read_record
from orchestrator.system import parquet
from orchestrator.system.engine import connect_engine
from runner import __version__
from runner.contract.job import Limits, SideBySide
from runner.contract.record.record import Record
from runner.contract.rounds import read_rounds
from tests.support.fakes import ScriptedLauncher, measures_all
from tests.support.jobs import OneImage, a_job, a_task, fake_cell, fake_model

MIB = 1 << 20
CELLS = (fake_cell(1), fake_cell(2))
HOST = f"contract-{uuid.uuid4().hex}"
SIGKILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


@dataclass
class Bench:
    """A launcher, a folder to launch in, and a look at what is left."""

    launcher: Launcher
    folder: Path
    left: Callable[[], list[str]]
    """Processes or containers that still run."""

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def task(
        self, faults: Mapping[str, str] | None = None, limits: Limits | None = None, **config: Any
    ) -> Task:
        """A task with a scripted model."""
        return a_task(self.folder, a_job(CELLS, fake_model(faults, **config), limits=limits))

    def run(self, task: Task) -> tuple[list[dict[str, Any]], Exit]:
        """Launch to the end; the progress and how it ended."""
        with self.launcher.launch(task) as execution:
            return [json.loads(line) for line in rest(execution)], execution.wait()

    def records(self) -> dict[int, Record]:
        """Records by batch size."""
        records = map(read_record, self.out.glob("*.parquet"))
        return {record.batch_size: record for record in records}


def new_children() -> Callable[[], list[str]]:
    """Finds the command lines of this process' children that start from now on.

    A reader of Parquet files is kept for later.
    """
    before = set(psutil.Process().children(recursive=True))

    def find() -> list[str]:
        children = set(psutil.Process().children(recursive=True)) - before
        lines = [" ".join(child.cmdline()) for child in children]
        return [line for line in lines if parquet.__name__ not in line]

    return find


def our_containers() -> list[str]:
    """Containers with our label, running or not."""
    command = ["docker", "ps", "--all", "--quiet"]
    mine = ["--filter", f"label=org.accelmatrix.host={HOST}"]
    done = subprocess.run([*command, *mine], capture_output=True, text=True, check=True)
    return done.stdout.split()


def rest(execution: TaskExecution) -> list[str]:
    """All lines until the last."""
    return list(iter(execution.lines.get, None))


def read_until(lines: "Queue[str | None]", **event: object) -> None:
    """Read progress up to an event."""
    while (line := lines.get()) is not None:
        if event.items() <= json.loads(line).items():
            return
    pytest.fail(f"the runner ended before {event}")


@contextmanager
def a_bench(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Bench]:
    """A bench of that kind. Every test leaves nothing behind."""
    with ExitStack() as stack:
        if kind == "process":
            bench = Bench(ProcessLauncher(), folder, new_children())
        elif kind == "scripted":
            scripted = ScriptedLauncher(measures_all)
            bench = Bench(scripted, folder, lambda: ["a launch"] * scripted.running)
        else:
            image = request.getfixturevalue("cpu_image")
            client = stack.enter_context(closing(connect_engine()))
            launcher = DockerLauncher(client, OneImage(image), host=HOST)
            bench = Bench(launcher, folder, our_containers)
            bench.launcher.prepare("fake")
        yield bench
        assert bench.left() == []


REAL = ["process", pytest.param("docker", marks=[pytest.mark.engine, pytest.mark.slow])]


@pytest.fixture(params=REAL)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A real launcher of each kind."""
    with a_bench(request.param, request, tmp_path) as bench:
        yield bench


@pytest.fixture(params=[*REAL, "scripted"])
def any_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A launcher of each kind, the scripted one included."""
    with a_bench(request.param, request, tmp_path) as bench:
        yield bench


@pytest.mark.slow
def test_a_job_ends_with_its_lines_its_records_and_exit_zero(any_bench: Bench) -> None:
    bench, task = any_bench, any_bench.task()
    before = task.job_file.read_bytes()
    with bench.launcher.launch(task) as execution:
        end = execution.wait()
        assert execution.wait() == end
        events = [json.loads(line) for line in rest(execution)]
    assert (end.code, end.out_of_memory) == (0, False)
    assert events[0] == {"event": "phase", "phase": "load", "cell_id": None}
    recorded = [event["cell_id"] for event in events if event["event"] == "recorded"]
    assert recorded == [cell.id for cell in CELLS]
    assert {size: record.status for size, record in bench.records().items()} == {1: "ok", 2: "ok"}
    assert task.job_file.read_bytes() == before  # which is only read


def test_cells_that_fail_are_no_failure_of_the_launch(bench: Bench) -> None:
    _, end = bench.run(bench.task({"*-b1-*": "raise", "*-b2-*": "memory_error"}))
    statuses = {size: record.status for size, record in bench.records().items()}
    assert (end.code, end.out_of_memory) == (0, False)
    assert statuses == {1: "failed", 2: "out_of_memory"}
    assert "a scripted failure" in (bench.out / f"{CELLS[0].id}.log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "codes", "out_of_memory"),
    [("exit", (3,), False), ("die", SIGKILLED, False), ("fill_memory", SIGKILLED, True)],
)
def test_a_runner_that_gives_up_dies_or_fills_its_memory_is_told_apart(
    bench: Bench, fault: str, codes: tuple[int, ...], out_of_memory: bool
) -> None:
    _, end = bench.run(bench.task({"*-b2-*": fault}, Limits(memory_bytes=300 * MIB)))
    assert end.code in codes
    assert end.out_of_memory == out_of_memory
    assert list(bench.records()) == [1]


def test_a_job_that_cannot_be_read_is_refused(bench: Bench) -> None:
    task = bench.task()
    task.job_file.write_text('{"run_id": 3}')
    events, end = bench.run(task)
    assert (events, end.code) == ([], 2)
    assert "not a job this runner understands" in end.log


@pytest.mark.slow
def test_killing_ends_a_hanging_runner_and_may_be_repeated(bench: Bench) -> None:
    with bench.launcher.launch(bench.task({"*-b2-*": "hang"})) as execution:
        read_until(execution.lines, event="recorded", cell_id=CELLS[0].id)
        execution.kill()
        execution.kill()
        rest(execution)
        end = execution.wait()
        assert end.code in SIGKILLED
        assert not end.out_of_memory
        execution.kill()
        assert execution.wait() == end
    assert list(bench.records()) == [1]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ZeroDivisionError, None])
def test_leaving_early_leaves_nothing(
    bench: Bench, interruption: type[BaseException] | None
) -> None:
    def leave() -> None:
        with bench.launcher.launch(bench.task({"*-b1-*": "hang"})) as execution:
            if interruption:
                read_until(execution.lines, event="phase", phase="first")
                assert len(bench.left()) == 1
                raise interruption

    with pytest.raises(interruption) if interruption else nullcontext():
        leave()
    assert bench.left() == []


@pytest.mark.slow
def test_a_launcher_may_be_used_again(bench: Bench) -> None:
    for _ in range(2):
        _, end = bench.run(bench.task({"*-b2-*": "die"}))
        assert end.code in SIGKILLED
    assert bench.run(bench.task())[1].code == 0


@pytest.mark.slow
def test_a_job_that_takes_turns_works_when_it_is_told_to_and_is_silent_between(
    bench: Bench,
) -> None:
    group = SideBySide(group="g1", looks=(3,))
    task = bench.task(latency_s=0.002)
    job = task.job.model_copy(update={"side_by_side": group})
    task.job_file.write_text(job.model_dump_json())
    with bench.launcher.launch(replace(task, job=job)) as execution:
        for cell in CELLS:
            for order in ({"burst_s": 0.01}, {"burst_s": 0.02}, {}):
                read_until(execution.lines, event="waits", cell_id=cell.id)
                with pytest.raises(Empty):
                    execution.lines.get(timeout=0.2)
                execution.send(json.dumps(order))
            read_until(execution.lines, event="visited", cell_id=cell.id)
        rest(execution)
        end = execution.wait()
        execution.send("{}")
    assert (end.code, end.out_of_memory, end.log) == (0, False, "")
    for cell in CELLS:
        (result,) = read_rounds(bench.out, cell, 1)
        assert result.bursts is not None
        assert len(result.bursts.iterations) == 2


@pytest.mark.parametrize("ending", ["leave", "kill"])
def test_a_job_that_waits_for_its_turn_is_ended_like_any_other(bench: Bench, ending: str) -> None:
    task = bench.task()
    job = task.job.model_copy(update={"side_by_side": SideBySide(group="g1", looks=(3,))})
    task.job_file.write_text(job.model_dump_json())
    with bench.launcher.launch(replace(task, job=job)) as execution:
        read_until(execution.lines, event="waits")
        if ending == "kill":
            execution.kill()
            execution.send("{}")
            assert execution.wait().code in SIGKILLED
    assert bench.left() == []


def test_provenance_names_the_launcher_the_image_that_it_needs_and_the_version(
    any_bench: Bench,
) -> None:
    launcher = any_bench.launcher
    provenance = launcher.prepare("fake")
    assert provenance.launcher == launcher.name
    assert (provenance.image is not None) == launcher.needs_images
    scripted = isinstance(launcher, ScriptedLauncher)
    assert scripted or provenance.orchestrator_version == __version__


def test_cleaning_after_clean_runs_removes_nothing(any_bench: Bench) -> None:
    assert any_bench.launcher.clean(frozenset({"fake"})) == 0


def test_reserved_devices_wait_for_their_holder(any_bench: Bench) -> None:
    devices, waits = frozenset({"fake", "other"}), list[tuple[str, str]]()
    launcher = any_bench.launcher

    class Waited(Exception):
        """Ends the wait, which would have no end here."""

    def waiting(device: str, holder: str) -> None:
        waits.append((device, holder))
        raise Waited

    with launcher.reserve(devices, "run 1", waiting):
        with pytest.raises(Waited), launcher.reserve(frozenset({"other"}), "run 2", waiting):
            pytest.fail("it is held already")
        with launcher.reserve(frozenset({"free"}), "run 3", waiting):
            pass
    with launcher.reserve(devices, "run 4", waiting):
        pass
    ((device, holder),) = waits
    assert device == "other"
    assert holder.startswith("run 1")


@pytest.mark.parametrize("launcher", [*LAUNCHERS.values(), ScriptedLauncher])
def test_it_answers_for_itself(launcher: type[Launcher]) -> None:
    """No other code compares launchers by name."""
    assert launcher.slots >= 1
    reached = {backend for backend in CATALOGUE if launcher.can_reach(backend)}
    with_image = {backend for backend, spec in CATALOGUE.items() if spec.image}
    assert reached == (with_image if launcher.needs_images else set(CATALOGUE))
    assert tuple(LAUNCHERS) == get_args(LauncherName)
    assert launcher is ScriptedLauncher or LAUNCHERS[launcher.name] is launcher


@pytest.mark.slow
def test_what_a_job_asks_of_a_runner_reaches_it_and_output_of_libraries_is_no_event(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    task = bench.task({"*": "print"}, Limits(memory_bytes=400 * MIB, cpus=1), latency_s=0.02)
    named = task.job.model_copy(update={"inherit_environ": ("ONEDNN_MAX_CPU_ISA",)})
    task.job_file.write_text(named.model_dump_json())
    events, end = bench.run(replace(task, job=named))
    assert {event["event"] for event in events} == {"phase", "recorded"}
    assert "a stray line on stdout" in end.log
    record = bench.records()[1]
    assert record.latency_median_s is not None
    assert record.latency_median_s >= 0.02
    assert record.cpu_affinity == [*(cpus_of_process(task.job) or ())]
    assert len(record.cpu_affinity) == 1
    seen = record.environment_variables or {}
    assert seen["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert "OMP_WAIT_POLICY" not in seen
