"""A job is executed until each of its cells has a verdict, whatever happens to its launches."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue

import pytest

from orchestrator.launchers.base import Exit, Task
from orchestrator.running.execute_job import Availability, JobExecution, LaunchContext, launch_job
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.launch import Launch
from orchestrator.running.launch_limits import job_limit_s
from orchestrator.running.options import RunOptions
from orchestrator.store.records.compact import compact
from orchestrator.store.store import Store
from orchestrator.system.weights import revision_of
from runner.contract.axes import Backend
from runner.contract.cell import Purpose
from runner.contract.errors import EngineUnavailable, ImageError, StoreError, Unavailable
from runner.contract.job import Job, Limits, Provenance
from runner.contract.reasons import reason_from
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase
from runner.contract.rounds import round_path
from runner.job.harness import Harness
from tests.support.fakes import (
    KeptObserver,
    KeptProgress,
    Script,
    ScriptedLauncher,
    dies_in,
    enter,
    fill_disk,
    finish,
    measures_all,
    record,
)
from tests.support.jobs import fake_cell, fake_model
from tests.support.records import record_for
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder
from tests.support.weights import a_weights_folder
from tests.support.words import raises_words, words_of


class Counting(ScriptedLauncher):
    """Counts how often each backend is asked for."""

    def __init__(self) -> None:
        super().__init__(measures_all)
        self.asked: list[Backend] = []

    def prepare(self, backend: Backend) -> Provenance:
        self.asked.append(backend)
        return super().prepare(backend)


def test_a_backend_is_made_ready_once_and_knows_the_host() -> None:
    launcher = Counting()
    availability = Availability(launcher)
    assert availability.prepare("cpu") == availability.prepare("cpu")
    assert availability.prepare("cpu").hostname
    assert launcher.asked == ["cpu"]


@pytest.mark.parametrize("error", [Unavailable("no torch"), ImageError("no image")])
def test_a_refusal_is_remembered(error: Exception) -> None:
    launcher = Counting()
    launcher.refusals["cpu"] = error  # type: ignore[assignment]
    availability = Availability(launcher)
    for _ in range(2):
        with pytest.raises(type(error)):
            availability.prepare("cpu")
    assert launcher.asked == ["cpu"]


def test_with_an_engine_that_returns_all_backends_are_made_ready_anew() -> None:
    launcher = Counting()
    availability = Availability(launcher)
    availability.prepare("openvino")
    assert availability.comes_back("cpu", patience_s=0)
    availability.prepare("cpu")
    availability.prepare("openvino")
    assert launcher.asked == ["openvino", "cpu", "openvino"]


CELL = fake_cell()
LIMIT_S = 30.0


class PacedLines(Queue[str | None]):
    """Lines that come one by one, always after the same time, which passes nowhere else."""

    def __init__(self, lines: Sequence[str | None], gap_s: float) -> None:
        super().__init__()
        self._gap_s = self._next_s = gap_s
        self.now = 0.0
        for line in lines:
            self.put(line)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self._next_s += seconds

    def get(self, block: bool = True, timeout: float | None = None) -> str | None:
        """The next line, or none within that time."""
        if timeout is not None and self.now + timeout < self._next_s:
            self.now += timeout
            raise Empty
        self.now = self._next_s
        self._next_s += self._gap_s
        return super().get(block=False)


class PacedExecution:
    """A launch that ends with its last line."""

    def __init__(self, lines: PacedLines) -> None:
        self.lines = lines
        self.killed = False

    def send(self, line: str) -> None:
        """Nobody waits for it."""

    def kill(self) -> None:
        """Note the kill."""
        self.killed = True

    def wait(self) -> Exit:
        """Well, unless it was killed."""
        return Exit(-9 if self.killed else 0, out_of_memory=False, log="")


class PacedLauncher(ScriptedLauncher):
    """A launcher whose launches print these lines."""

    def __init__(self, lines: PacedLines) -> None:
        super().__init__(measures_all)
        self._lines = lines

    @contextmanager
    def launch(self, task: Task) -> Iterator[PacedExecution]:  # type: ignore[override]
        """Print the lines."""
        yield PacedExecution(self._lines)


def phase(name: str, cell_id: str | None = None) -> str:
    return json.dumps({"event": "phase", "phase": name, "cell_id": cell_id})


def launched(
    results: Path, lines: Sequence[str | None], gap_s: float, purpose: Purpose = "measure"
) -> Launch:
    paced = PacedLines(lines, gap_s)
    folder = a_run_folder(results, a_plan([CELL], limits=Limits(cell_timeout_s=LIMIT_S)))
    job = folder.run.job(folder.cells, folder.nowhere).model_copy(update={"purpose": purpose})
    task = Task(
        job=job, backend="fake", job_file=folder.job_files.write(job), out=folder.out(job.id)
    )
    launcher = PacedLauncher(paced)
    context = LaunchContext(launcher, folder, KeptObserver(), lambda: paced.now)
    return launch_job(job, task, context)


def test_each_way_of_an_export_has_the_whole_limit(tmp_path: Path) -> None:
    launch = launched(tmp_path, [*[phase("load")] * 5, None], 20, "prepare")
    assert (launch.stopped, launch.exit) == (None, Exit(0, out_of_memory=False, log=""))


def test_a_way_that_takes_longer_ends_the_launch(tmp_path: Path) -> None:
    launch = launched(tmp_path, [phase("load"), "a stray line", None], 20, "prepare")
    assert words_of(launch.outcome.reason) == "not done after 30 s, in phase load"


@pytest.mark.parametrize(("gap_s", "in_time"), [(10, True), (20, False)])
def test_the_phases_of_a_cell_share_one_limit(tmp_path: Path, gap_s: float, in_time: bool) -> None:
    phases = [phase(name, CELL.id) for name in ("first", "warmup", "steady")]
    launch = launched(tmp_path, [phase("load"), *phases, None], gap_s)
    assert (launch.stopped is None) is in_time


NOWHERE = Provenance(launcher="process", orchestrator_version="0")
KILLED = Exit(137, out_of_memory=False, log="")
OUT_OF_MEMORY = Exit(137, out_of_memory=True, log="")


def run(
    tmp_path: Path, *scripts: Script, limits: Limits | None = None
) -> tuple[dict[int, tuple[str, str | None]], ScriptedLauncher, KeptObserver, RunFolder]:
    folder = a_run_folder(tmp_path, a_plan(limits=limits))
    launcher, observer = ScriptedLauncher(*scripts), KeptObserver()
    job = folder.run.job(folder.cells, NOWHERE)
    try:
        JobExecution(job, LaunchContext(launcher, folder, observer)).execute()
    finally:
        assert launcher.running == 0
    return verdicts(folder), launcher, observer, folder


def verdicts(folder: RunFolder) -> dict[int, tuple[str, str | None]]:
    records = filter(None, map(folder.record_of, folder.cells))
    return {record.batch_size: (record.status, words_of(record.ending)) for record in records}


def test_a_launch_sees_the_weights_that_were_planned(tmp_path: Path) -> None:
    weights = a_weights_folder(tmp_path / "weights")
    changes = {"weights": "pretrained", "path": str(weights), "revision": revision_of(weights)}
    folder = a_run_folder(tmp_path, a_plan(model=fake_model().model_copy(update=changes)))
    launcher, job = ScriptedLauncher(measures_all), folder.run.job(folder.cells, NOWHERE)
    JobExecution(job, LaunchContext(launcher, folder, KeptObserver())).execute()
    assert [task.staged()["--weights"] for task in launcher.tasks] == [weights]
    records = [folder.record_of(cell) for cell in folder.cells]
    assert {(record.weights, record.weights_revision) for record in records if record} == {
        ("pretrained", revision_of(weights))
    }


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        (OUT_OF_MEMORY, "out_of_memory", "killed for exceeding the memory limit, in phase steady"),
        (KILLED, "lost", "the runner died by SIGKILL in phase steady"),
        (Exit(0, False, ""), "lost", "the runner ended well but left nothing that can be read"),
    ],
    ids=["oom", "sigkill", "silent"],
)
def test_the_cell_in_hand_gets_the_verdict_and_the_rest_is_measured(
    tmp_path: Path, ending: Exit, status: str, reason: str
) -> None:
    found, launcher, observer, _ = run(tmp_path, dies_in(2, ending), measures_all)
    assert found == {1: ("ok", None), 2: (status, reason), 4: ("ok", None)}
    assert [[cell.batch_size for cell in job.cells] for job in launcher.launched] == [
        [1, 2, 4],
        [4],
    ]
    assert len(observer.ended) == 3


def test_what_a_runner_was_killed_at_writing_is_cleared_away(tmp_path: Path) -> None:
    def dies_writing(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        enter(lines, "steady", job.cells[0])
        (out / f".{job.cells[0].id}.parquet.tmp").write_bytes(b"PAR1")
        lines.put(None)
        return KILLED

    found, _, _, folder = run(tmp_path, dies_writing, measures_all)
    assert [found[size][0] for size in (1, 2, 4)] == ["lost", "ok", "ok"]
    assert list(folder.path.rglob("*.tmp")) == []


def test_a_hanging_cell_is_killed_at_its_timeout(tmp_path: Path) -> None:
    def hangs(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        record(lines, job, job.cells[0], out)
        enter(lines, "warmup", job.cells[1])
        return KILLED

    limits = Limits(cell_timeout_s=0.05)
    found, _, _, _ = run(tmp_path, hangs, measures_all, limits=limits)
    assert found[2] == ("timeout", "not done after 0.05 s, in phase warmup")
    assert (found[1][0], found[4][0]) == ("ok", "ok")


class _Killed(BaseException):
    """The end of a runner, wherever it is."""


class _EndsInVerification(KeptProgress):
    def __init__(self, lines: Queue[str | None], is_last: bool) -> None:
        super().__init__()
        self._lines, self._is_last = lines, is_last

    def phase(self, phase: Phase, cell_id: str | None) -> None:
        self._lines.put(json.dumps({"event": "phase", "phase": phase, "cell_id": cell_id}))
        if phase == "verify":
            if self._is_last:
                self._lines.put(None)
            raise _Killed


def verifies(is_last: bool) -> Script:
    """The runner itself, which verifies until it is killed, or ends then by itself."""

    def script(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        with suppress(_Killed):
            Harness(job, out, _EndsInVerification(lines, is_last)).run()
            return finish(lines)
        return KILLED

    return script


SHORT = Limits(cell_timeout_s=0.5)


@pytest.mark.slow
def test_a_verification_that_takes_too_long_takes_no_durations(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan([CELL], limits=SHORT))
    a_round(folder, 1, verifies(is_last=False))
    assert verdicts(folder) == {CELL.batch_size: ("ok", None)}
    for kept in map(folder.record_of, folder.cells):
        assert kept is not None
        assert kept.durations_ns
        assert kept.latency_median_s
        assert (kept.correct, kept.correct_code) == (None, "verification_timeout")
        assert words_of(reason_from(kept.correct_code, kept.correct_facts)) == (
            "not verified: timeout, the comparison was not done after 0.5 s"
        )


@pytest.mark.slow
def test_later_rounds_go_on_without_the_verification(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan([CELL], rounds=2, limits=SHORT))
    _, observer = a_round(folder, 1, verifies(is_last=False))
    assert verdicts(folder) == {}
    assert [cell_id for cell_id, _ in observer.visited] == [cell.id for cell in folder.cells]
    a_round(folder, 2, verifies(is_last=True))
    for kept in map(folder.record_of, folder.cells):
        assert kept is not None
        assert (kept.status, kept.rounds) == ("ok", 2)
        assert kept.correct_code == "verification_timeout"


@pytest.mark.slow
def test_another_end_of_a_verification_is_a_verdict_as_before(tmp_path: Path) -> None:
    found, _, _, _ = run(tmp_path, verifies(is_last=True), limits=Limits(cell_timeout_s=60))
    assert {status for status, _ in found.values()} == {"lost"}


@pytest.mark.parametrize(("ending", "status"), [(OUT_OF_MEMORY, "out_of_memory")])
def test_what_strikes_while_loading_strikes_every_cell_once(
    tmp_path: Path, ending: Exit, status: str
) -> None:
    def dies_loading(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        enter(lines, "load")
        lines.put(None)
        return ending

    found, launcher, _, _ = run(tmp_path, dies_loading)
    assert {verdict[0] for verdict in found.values()} == {status}
    assert len(launcher.launched) == 1


def test_a_kill_while_loading_costs_one_cell_alone(tmp_path: Path) -> None:
    def killed_loading(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        enter(lines, "load")
        lines.put(None)
        return KILLED

    found, _, _, _ = run(tmp_path, killed_loading, measures_all)
    assert sorted(verdict[0] for verdict in found.values()) == ["lost", "ok", "ok"]


def test_an_engine_that_goes_away_is_reported_with_the_cell_in_hand_lost(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path)
    launcher = ScriptedLauncher(dies_in(2, None))
    with raises_words(EngineUnavailable, match="stopped answering during the run"):
        context = LaunchContext(launcher, folder, KeptObserver())
        JobExecution(folder.run.job(folder.cells, NOWHERE), context).execute()
    assert verdicts(folder) == {
        1: ("ok", None),
        2: ("lost", "the container engine went away in phase steady"),
    }


FULL = Exit(6, out_of_memory=False, log="noise\n/out/x: No space left \x1b[2J\n")


def test_a_runner_that_says_the_disk_is_full_where_it_is_not_loses_its_cell(tmp_path: Path) -> None:
    found, _, _, _ = run(tmp_path, dies_in(2, FULL), measures_all)
    assert found[2] == (
        "lost",
        "the runner ended with exit status 6 in phase steady, "
        "saying: /out/x: No space left \\u001b[2J",
    )
    assert (found[1][0], found[4][0]) == ("ok", "ok")


def test_a_runner_that_cannot_save_ends_the_run_without_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    folder = a_run_folder(tmp_path)
    context = LaunchContext(ScriptedLauncher(dies_in(2, FULL)), folder, KeptObserver())
    execution = JobExecution(folder.run.job(folder.cells, NOWHERE), context)
    with pytest.raises(StoreError, match="No space left"):
        execution.execute()
    assert verdicts(folder) == {1: ("ok", None)}


def test_a_refused_job_fails_whole(tmp_path: Path) -> None:
    def refuses(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        lines.put(None)
        return Exit(2, out_of_memory=False, log="not a job")

    found, _, _, _ = run(tmp_path, refuses)
    assert set(found.values()) == {("failed", "the runner refused the job: not a job")}


def test_a_damaged_record_is_set_aside_and_its_cell_measured_again(tmp_path: Path) -> None:
    def damages(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        exit_ = measures_all(job, out, lines)
        (out / f"{job.cells[1].id}.parquet").write_bytes(b"PAR1 is not enough")
        return exit_

    found, _, _, folder = run(tmp_path, damages)
    assert found[2][0] == "lost"
    assert len(list(folder.records.rglob("*.damaged"))) == 1


def test_a_resumed_job_launches_only_what_is_missing(tmp_path: Path) -> None:
    _, _, _, folder = run(tmp_path, dies_in(2, KILLED), measures_all)
    folder.forget_retried()
    launcher = ScriptedLauncher(measures_all)
    context = LaunchContext(launcher, folder, KeptObserver())
    JobExecution(folder.run.job(folder.cells, NOWHERE), context).execute()
    assert [cell.batch_size for job in launcher.launched for cell in job.cells] == [2]


def test_stray_lines_are_no_progress(tmp_path: Path) -> None:
    def chatty(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        no_phase = '{"event": "phase", "cell_id": null}\n'
        odd_phase = '{"event": "phase", "cell_id": null, "phase": "lunch"}\n'
        for stray in ("hello\n", "[]\n", "3\n", '{"event": "phase"}\n', no_phase, odd_phase, "{\n"):
            lines.put(stray)
        return measures_all(job, out, lines)

    found, _, observer, _ = run(tmp_path, chatty)
    assert {verdict[0] for verdict in found.values()} == {"ok"}
    assert observer.phases == ["load", "first", "first", "first"]


def test_what_the_runner_wrote_to_stderr_is_kept(tmp_path: Path) -> None:
    _, _, _, folder = run(tmp_path, dies_in(2, Exit(3, False, "the last words")), measures_all)
    assert sorted((folder.path / "logs").iterdir())[0].read_text() == "the last words"


def a_round(
    folder: RunFolder, round_: int, *scripts: Script
) -> tuple[ScriptedLauncher, KeptObserver]:
    launcher, observer = ScriptedLauncher(*scripts), KeptObserver()
    job = folder.run.job(folder.cells, NOWHERE, round_)
    JobExecution(job, LaunchContext(launcher, folder, observer)).execute()
    return launcher, observer


def test_a_round_before_the_last_leaves_parts_and_no_verdict(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan(rounds=2))
    _, observer = a_round(folder, 1, measures_all)
    assert verdicts(folder) == {}
    assert observer.visited == [(cell.id, 1) for cell in folder.cells]
    _, observer = a_round(folder, 2, measures_all)
    assert {verdict[0] for verdict in verdicts(folder).values()} == {"ok"}
    assert [cell_id for cell_id, _ in observer.ended] == [cell.id for cell in folder.cells]


def test_a_cell_that_fails_in_one_round_is_not_visited_in_the_next(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan(rounds=3))
    launcher, _ = a_round(folder, 1, dies_in(2, KILLED), measures_all)
    assert [[cell.batch_size for cell in job.cells] for job in launcher.launched] == [
        [1, 2, 4],
        [4],
    ]
    launcher, _ = a_round(folder, 2, measures_all)
    assert [[cell.batch_size for cell in job.cells] for job in launcher.launched] == [[1, 4]]
    assert verdicts(folder)[2][0] == "lost"


def test_what_other_jobs_made_reaches_the_launch(tmp_path: Path) -> None:
    folder, launcher = a_run_folder(tmp_path), ScriptedLauncher(measures_all)
    context = LaunchContext(launcher, folder, KeptObserver())
    artifacts = (tmp_path / "references", tmp_path / "graphs")
    JobExecution(folder.run.job(folder.cells, NOWHERE), context, *artifacts).execute()
    (task,) = launcher.tasks
    assert (task.references, task.graphs) == artifacts


MEASURED, DUE = fake_cell(1), fake_cell(2)
Deed = Callable[[Path, Record], object]


def falsify(path: Path, earlier: Record) -> None:
    save_record(earlier.model_copy(update={"load_time_s": 99.0}), path.parent)


def remove(path: Path, earlier: Record) -> None:
    path.unlink(missing_ok=True)


def replace_by_folder(path: Path, earlier: Record) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "is_compact", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["own file", "compact"]
)
@pytest.mark.parametrize("deed", [falsify, remove, replace_by_folder])
def test_what_another_image_measured_stays(tmp_path: Path, deed: Deed, *, is_compact: bool) -> None:
    folder = a_run_folder(tmp_path / "results", a_plan([MEASURED, DUE]))
    image = SOMEWHERE.model_copy(update={"image": "x:1", "image_digest": f"sha256:{'a' * 64}"})
    before = folder.run.job([MEASURED, DUE], image)
    folder.job_files.write(before)
    earlier = record_for(before, MEASURED)
    folder.save(earlier)
    if is_compact:
        compact(folder.records, folder.run.run_id, [MEASURED.id])
    known = folder.record_of(MEASURED)

    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        assert job.cells == (DUE,)
        deed(out / f"{MEASURED.id}.parquet", earlier)
        round_path(out, MEASURED, 1).write_text("{}")
        record(lines, job, DUE, out)
        return finish(lines)

    observer, database = KeptObserver(), tmp_path / "results" / "benchmarks.duckdb"
    options = RunOptions(database=database, scratch=True)
    run = RunExecution(folder, ScriptedLauncher(script), observer, options, engine_grace_s=0)
    assert run.run().exit_code == 0
    assert folder.record_of(MEASURED) == known
    part = round_path(folder.records / MEASURED.job_id, MEASURED, 1)
    assert not part.exists()
    assert any(line.startswith(f"{part.name}: was changed") for line in observer.notes)
    with Store.open_readonly(database) as store:
        assert set(store.verdicts(folder.run.run_id).values()) == {"ok"}


def test_a_job_has_its_time_from_its_first_launch_on(tmp_path: Path) -> None:
    """Others that are measured side by side with it may need an export first."""
    folder = a_run_folder(tmp_path, a_plan([CELL], limits=Limits(cell_timeout_s=LIMIT_S)))
    job = folder.run.job(folder.cells, NOWHERE)
    paced = PacedLines([phase("load"), phase("first", CELL.id), None], 1.0)
    context = LaunchContext(PacedLauncher(paced), folder, KeptObserver(), lambda: paced.now)
    execution = JobExecution(job, context)
    paced.pass_by(2 * job_limit_s(job))
    execution.execute()
    assert verdicts(folder)[CELL.batch_size][0] == "lost", "it has ended by itself"
