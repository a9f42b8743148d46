import os
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from filelock import FileLock, Timeout

from orchestrator.launchers.base import Exit
from orchestrator.planning.plan import Plan, schedule
from orchestrator.running.execution import RunExecution, devices_of, estimates_s
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.store.merge.report import MergeReport, MissingVerdicts
from orchestrator.store.records.validate import read_record
from orchestrator.store.store import Store
from orchestrator.system.locks import hold_devices
from runner.contract.axes import Backend, Runtime
from runner.contract.cell import Cell, Purpose
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    StoreError,
    Unavailable,
)
from runner.contract.job import Job, Provenance
from runner.contract.reasons import Reason
from runner.contract.record.files import save_record
from runner.contract.rounds import save_round
from runner.job.harness import Harness
from tests.support.fakes import (
    KeptObserver,
    KeptProgress,
    Script,
    ScriptedLauncher,
    counted_work,
    dies_in,
    fill_disk,
    measures_all,
)
from tests.support.jobs import fake_cell
from tests.support.records import a_round, record_for
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import doubt_words, words_of

pytestmark = pytest.mark.usefixtures("unmerged")

HERE = {"launcher": "process", "orchestrator_version": "0"}
KILLED = Exit(137, out_of_memory=False, log="")
GONE = EngineUnavailable("the engine is down", hint="start it")
RIGHT = {"correct": True, "proof": "proven"}

OLD_IMAGE, NEW_IMAGE = (f"sha256:{digit * 64}" for digit in "01")


def answering(columns: dict[str, Any]) -> Script:
    """A launch that records every cell as ok, or as these columns say."""

    def answers(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        for cell in job.cells:
            save_record(record_for(job, cell, **columns), out)
        lines.put(None)
        return Exit(0, out_of_memory=False, log="")

    return answers


def cells_of(*models: str, batch_sizes: Sequence[int] = (1,)) -> list[Cell]:
    return [fake_cell(size, model=model) for model in models for size in batch_sizes]


LACKING = (MissingVerdicts("run-1", 3, ("a",)),)


class Trial:
    """A run with a scripted launcher."""

    def __init__(
        self, folder: Path, plan: Plan | None = None, purpose: Purpose = "measure"
    ) -> None:
        self.database = folder / "benchmarks.duckdb"
        self.folder = a_run_folder(folder / "results", plan, purpose=purpose)
        self.observer = KeptObserver()

    def run(
        self,
        launcher: ScriptedLauncher,
        *,
        memory_bytes: int | None = None,
        engine_grace_s: float = 0.0,
        earlier_images: bool = False,
        **options: Any,
    ) -> RunOutcome:
        """Execute what is missing; an outage is given no time to heal."""
        execution = RunExecution(
            self.folder,
            launcher,
            self.observer,
            RunOptions(database=self.database, **options),
            memory_bytes=memory_bytes,
            engine_grace_s=engine_grace_s,
        )
        execution.earlier_images = earlier_images
        return execution.run()

    def verdicts(self) -> dict[str, str]:
        """Status by cell id, as the database has it, or the folder where nothing was merged."""
        if not self.database.exists():
            return dict(self.folder.verdicts())
        with Store.open_readonly(self.database) as store:
            return dict(store.verdicts("run-1"))

    def statuses(self) -> list[str]:
        """The statuses, sorted."""
        return sorted(self.verdicts().values())


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


@pytest.fixture
def three_jobs(tmp_path: Path) -> Trial:
    return Trial(tmp_path, a_plan(cells_of("a", "b", "c")))


@pytest.mark.usefixtures("database")
def test_every_cell_is_measured_and_merged(trial: Trial) -> None:
    outcome = trial.run(ScriptedLauncher(measures_all))
    assert trial.verdicts() == {cell.id: "ok" for cell in trial.folder.cells}
    assert outcome == RunOutcome(MergeReport(inserted=3), (), failures=0, measured=3)
    assert outcome.exit_code == 0


@pytest.mark.parametrize("seed", [0])
def test_jobs_and_cells_run_in_the_order_of_the_seed(tmp_path: Path, seed: int) -> None:
    trial = Trial(tmp_path, a_plan(cells_of("a", "b", "c", batch_sizes=(1, 2, 4))))
    options = replace(trial.folder.run.options, seed=seed)
    run = trial.folder.run.model_copy(update={"options": options})
    trial.folder = RunFolder(trial.folder.path, run)
    launcher = ScriptedLauncher(measures_all)
    trial.run(launcher)
    assert [job.cells for job in launcher.launched] == [
        job.cells for (job,) in schedule(run.plan, seed)
    ]
    assert {job.seed for job in launcher.launched} == {seed}


def test_skipped_cells_get_their_verdict_without_a_launch(tmp_path: Path) -> None:
    skipped = fake_cell(64)
    trial = Trial(tmp_path, a_plan(skips={skipped: "the model ends at 32"}))
    launcher = ScriptedLauncher(measures_all)
    assert trial.run(launcher).exit_code == 0
    assert trial.verdicts()[skipped.id] == "unsupported"
    record = trial.folder.record_of(skipped)
    assert record is not None
    assert (words_of(record.ending), record.phase) == ("the model ends at 32", "plan")
    assert skipped not in launcher.launched[0].cells
    assert (skipped.id, "unsupported") in trial.observer.ended


def test_what_was_foreseen_to_be_too_large_is_marked_and_is_no_failure(tmp_path: Path) -> None:
    large = fake_cell(64)
    plan = a_plan(skips={large: "predicted: needs at least 30 GB"})
    entries = [
        replace(entry, status="out_of_memory") if entry.cell == large else entry
        for entry in plan.entries
    ]
    trial = Trial(tmp_path, plan.model_copy(update={"entries": tuple(entries)}))
    assert trial.run(ScriptedLauncher(measures_all)).exit_code == 0
    assert trial.verdicts()[large.id] == "out_of_memory"
    records = {cell: trial.folder.record_of(cell) for cell in trial.folder.cells}
    assert {cell for cell, record in records.items() if record and record.predicted} == {large}


@pytest.mark.parametrize(
    ("refusal", "exit_code"),
    [
        (Unavailable("there is no such device", hint="plug it in"), 3),
        (ImageError("there is no such image", hint="build it"), 5),
        (EngineUnavailable("there is no engine", hint="start it"), 4),
    ],
)
def test_what_refuses_to_prepare_makes_every_cell_unavailable(
    three_jobs: Trial, refusal: BenchError, exit_code: int
) -> None:
    launcher = ScriptedLauncher(measures_all)
    launcher.refusals["fake"] = refusal
    assert three_jobs.run(launcher).exit_code == exit_code
    assert launcher.launched == []
    assert three_jobs.statuses() == ["unavailable"] * 3
    records = map(three_jobs.folder.record_of, three_jobs.folder.cells)
    assert {words_of(record.ending) for record in records if record} == {str(refusal)}
    assert three_jobs.observer.notes == [f"{refusal}; {refusal.hint}"]


def test_one_backend_that_is_refused_leaves_the_others(tmp_path: Path) -> None:
    cells = [fake_cell(), fake_cell(backend="cuda", runtime="torch")]
    trial = Trial(tmp_path, a_plan(cells))
    launcher = ScriptedLauncher(measures_all)
    launcher.refusals["cuda"] = Unavailable("there is no GPU")
    trial.run(launcher)
    assert trial.verdicts() == {cells[0].id: "ok", cells[1].id: "unavailable"}


def test_a_refusal_is_no_cover_for_a_missing_engine(tmp_path: Path) -> None:
    backends: list[Backend] = ["cuda", "rocm", "cpu"]
    cells = [fake_cell(backend=backend, runtime="torch") for backend in backends]
    trial = Trial(tmp_path, a_plan(cells))
    launcher = ScriptedLauncher(measures_all)
    absent = Unavailable("no GPU")
    launcher.refusals |= {"cuda": absent, "rocm": absent, "cpu": GONE}
    assert trial.run(launcher).exit_code == GONE.exit_code
    assert sorted(trial.observer.notes) == ["no GPU", "the engine is down; start it"]


def test_an_outage_that_heals_costs_the_cell_in_hand_alone(trial: Trial) -> None:
    launcher = ScriptedLauncher(dies_in(2, None), measures_all)
    outcome = trial.run(launcher)
    assert (outcome.exit_code, outcome.troubles) == (1, ())
    assert trial.statuses() == ["lost", "ok", "ok"]
    assert trial.observer.notes[-1] == "the container engine is back"
    assert launcher.cleaned == [frozenset({"fake"})] * 2


def test_an_image_made_anew_after_an_outage_is_the_one_recorded(trial: Trial) -> None:
    class Rebuilding(ScriptedLauncher):
        digests = iter([OLD_IMAGE, NEW_IMAGE])

        def prepare(self, backend: Backend) -> Provenance:
            return super().prepare(backend).model_copy(update={"image_digest": next(self.digests)})

    ((job,),) = schedule(trial.folder.run.plan, trial.folder.run.seed)
    launcher = Rebuilding(dies_in(job.cells[0].batch_size, None), measures_all)
    trial.run(launcher)
    digests = [job.provenance.image_digest for job in launcher.launched]
    assert digests == [OLD_IMAGE, NEW_IMAGE]


def test_an_outage_that_stays_leaves_verdicts_and_its_exit_code(three_jobs: Trial) -> None:
    def goes_for_good(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        launcher.refusals["fake"] = GONE
        return dies_in(1, None)(job, out, lines)

    launcher = ScriptedLauncher(measures_all, goes_for_good)
    assert three_jobs.run(launcher).exit_code == GONE.exit_code
    assert three_jobs.statuses() == ["lost", "ok", "unavailable"]
    assert len(launcher.launched) == 2


def test_an_engine_that_keeps_going_away_is_given_up(tmp_path: Path) -> None:
    trial = Trial(tmp_path, a_plan(cells_of("a", "b", "c", "d", "e", "f")))
    assert trial.run(ScriptedLauncher(dies_in(1, None))).exit_code == 4
    assert trial.statuses() == ["lost"] * 4 + ["unavailable"] * 2


def test_fail_fast_launches_nothing_after_a_failure(three_jobs: Trial) -> None:
    launcher = ScriptedLauncher(dies_in(1, KILLED), measures_all)
    outcome = three_jobs.run(launcher, fail_fast=True)
    assert (outcome.exit_code, outcome.failures) == (1, 1)
    assert len(launcher.launched) == 1
    assert three_jobs.statuses() == ["lost", "unavailable", "unavailable"]


def test_a_spent_budget_launches_nothing_more(three_jobs: Trial) -> None:
    launcher = ScriptedLauncher(measures_all)
    assert three_jobs.run(launcher, budget_s=0.0).exit_code == 3
    assert launcher.launched == []
    assert three_jobs.statuses() == ["unavailable"] * 3
    record = three_jobs.folder.record_of(three_jobs.folder.cells[0])
    assert record is not None
    assert words_of(record.ending) == "not started: the budget of 0s was spent"


def in_rounds(folder: Path, rounds: int = 3) -> Trial:
    """Three jobs of two cells each."""
    cells = cells_of("a", "b", "c", batch_sizes=(1, 2))
    return Trial(folder, a_plan(cells, rounds=rounds))


def interrupts(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
    raise KeyboardInterrupt


def visits(launcher: ScriptedLauncher) -> list[tuple[int, int]]:
    """Round and number of cells of each launch."""
    return [(job.round, len(job.cells)) for job in launcher.launched]


def test_a_cell_that_fails_leaves_the_later_rounds(tmp_path: Path) -> None:
    trial = in_rounds(tmp_path)
    launcher = ScriptedLauncher(dies_in(1, KILLED), measures_all)
    assert trial.run(launcher).exit_code == 1
    assert trial.statuses() == ["lost"] + ["ok"] * 5
    assert sum(len(job.cells) for job in launcher.launched if job.round > 1) == 10


def test_going_on_begins_in_the_round_where_the_run_stopped(tmp_path: Path) -> None:
    trial = in_rounds(tmp_path)
    five = [measures_all] * 4 + [interrupts]
    with pytest.raises(KeyboardInterrupt):
        trial.run(ScriptedLauncher(*five))
    assert trial.statuses() == []
    launcher = ScriptedLauncher(measures_all)
    assert trial.run(launcher).exit_code == 0
    assert visits(launcher) == [(2, 2), (2, 2), (3, 2), (3, 2), (3, 2)]
    assert trial.statuses() == ["ok"] * 6


def test_a_part_that_is_damaged_in_mid_run_is_measured_again(tmp_path: Path) -> None:
    def damages(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        victim = next(path for path in out.parent.rglob("*.round1.json") if path.parent != out)
        victim.write_bytes(victim.read_bytes()[:40])
        return measures_all(job, out, lines)

    trial = in_rounds(tmp_path)
    launcher = ScriptedLauncher(measures_all, damages, measures_all)
    assert trial.run(launcher).exit_code == 0
    assert trial.statuses() == ["ok"] * 6
    assert visits(launcher).count((1, 1)) == 1
    assert len(list(trial.folder.records.rglob("*.dropped"))) == 1


@pytest.mark.slow
def test_a_budget_spent_between_rounds_leaves_records_of_those_that_were_done(
    tmp_path: Path,
) -> None:
    trial = in_rounds(tmp_path, rounds=3)
    job = trial.folder.run.job(trial.folder.cells[:2], Provenance(**HERE))
    trial.folder.job_files.write(job)
    Harness(job, trial.folder.out(job.id), KeptProgress()).run()
    assert trial.run(ScriptedLauncher(measures_all), budget_s=0.0).measured == 2
    for cell in job.cells:
        record = trial.folder.record_of(cell)
        assert record is not None
        assert (record.status, record.rounds, record.proof) == ("ok", 1, "none")
        assert record.iterations == len(record.durations_ns or ())
        assert record.execution_options == {"shape": cell.shape}
        stopped = "1 of 3 rounds before the budget of 0s was spent: raise --budget"
        assert record.grade is not None
        assert doubt_words(vars(record))[0 if record.grade == "B" else -1] == stopped
        assert record.grade >= "B"
    assert trial.statuses() == ["ok"] * 2 + ["unavailable"] * 4


def test_a_rounds_false_columns_make_no_record(tmp_path: Path) -> None:
    trial = in_rounds(tmp_path, rounds=3)
    job = trial.folder.run.job(trial.folder.cells[:2], Provenance(**HERE))
    trial.folder.job_files.write(job)
    out = trial.folder.out(job.id)
    first, second = job.cells
    save_round(a_round(so_far={"model": "another", "rounds": 1}), out, first, 1)
    save_round(a_round(so_far={"latency_median_s": "none"}), out, second, 1)
    assert trial.run(ScriptedLauncher(measures_all), budget_s=0.0).measured == 0
    assert trial.statuses() == ["unavailable"] * 6


def test_rounds_of_another_image_are_not_mixed_in(tmp_path: Path) -> None:
    class Rebuilt(ScriptedLauncher):
        def prepare(self, backend: Backend) -> Provenance:
            return super().prepare(backend).model_copy(update={"image_digest": NEW_IMAGE})

    trial = in_rounds(tmp_path, rounds=2)
    with pytest.raises(KeyboardInterrupt):
        trial.run(ScriptedLauncher(measures_all, measures_all, interrupts))
    launcher = Rebuilt(measures_all)
    assert trial.run(launcher).exit_code == 0
    assert visits(launcher) == [(1, 2)] * 3 + [(2, 2)] * 3
    assert sum("starts over" in note for note in trial.observer.notes) == 2


def test_models_that_the_catalogue_lacks_are_counted_once_where_results_are_verified(
    tmp_path: Path,
) -> None:
    """A run that verifies nothing takes the counts that are there."""
    plan = a_plan(
        [fake_cell(backend="cpu", runtime="torch", precision=p) for p in ("fp32", "bf16")]
    )
    trial = Trial(tmp_path, plan)
    polynomials = counted_work().polynomials
    purposes: tuple[Purpose, ...] = ("time", "measure", "time")
    expected = ((0, None), (1, polynomials), (0, polynomials))
    for number, (purpose, (launches, counted)) in enumerate(zip(purposes, expected, strict=True)):
        trial.folder = a_run_folder(tmp_path / "results", plan, f"run-{number + 2}", purpose)
        launcher = ScriptedLauncher(answering(RIGHT))
        assert trial.run(launcher).exit_code == 0
        assert len(launcher.counted) == launches
        assert [job.counted for job in launcher.launched] == [counted] * 2
    trial.folder = a_run_folder(tmp_path / "results", plan, "run-5")
    launcher = ScriptedLauncher(answering(RIGHT))
    trial.run(launcher, earlier_images=True)
    assert [job.counted for job in launcher.launched] == [None] * 2


@pytest.mark.parametrize(
    ("runtime", "purpose", "held"),
    [
        ("torch", "measure", {"cpu", "nvidia"}),
        ("torch", "time", {"nvidia"}),
        ("onnxruntime", "time", {"cpu", "nvidia"}),
    ],
)
def test_who_needs_references_or_graphs_holds_the_device_that_makes_them(
    tmp_path: Path, runtime: Runtime, purpose: Purpose, held: set[str]
) -> None:
    cell = fake_cell(backend="cuda", runtime=runtime)
    trial, launcher = Trial(tmp_path, a_plan([cell]), purpose), ScriptedLauncher(measures_all)
    trial.run(launcher)
    assert launcher.cleaned == [frozenset(held)]


def test_graphs_are_exported_once_and_reach_whoever_executes_them(tmp_path: Path) -> None:
    paths = [("cpu", "onnxruntime"), ("openvino", "openvino"), ("cpu", "torch")]
    cells = [fake_cell(size, backend=b, runtime=r) for b, r in paths for size in (1, 2)]
    trial = Trial(tmp_path, a_plan(cells))
    launcher = ScriptedLauncher(answering(RIGHT))
    assert trial.run(launcher).exit_code == 0
    assert len(launcher.exported) == 1
    (name,) = {job.graph for job in launcher.launched if job.cells[0].runtime != "torch"}
    assert name == launcher.exported[0].graph
    told = {
        (task.job.id, task.graphs) for task in launcher.tasks if "-scripted-fp32" in task.job.id
    }
    graphs = tmp_path / "results/graphs"
    assert {folder for job, folder in told if not job.startswith("cpu-scripted")} == {graphs}
    assert {folder for job, folder in told if job.startswith("cpu-scripted")} == {None}


def test_leftovers_are_cleaned_while_the_devices_are_held(trial: Trial) -> None:
    class Suspicious(ScriptedLauncher):
        held = False

        def clean(self, devices: frozenset[str]) -> int:
            path = Path(os.environ["ACCELMATRIX_LOCKS"]) / "fake.lock"
            try:
                FileLock(path, is_singleton=False).acquire(timeout=0)
            except Timeout:
                self.held = True
            return super().clean(devices) + 2

    launcher = Suspicious(measures_all)
    trial.run(launcher)
    assert launcher.held
    assert launcher.cleaned == [frozenset({"fake"})]
    assert trial.observer.notes == ["removed 2 containers that a crashed run had left"]


def test_a_device_in_use_is_waited_for(trial: Trial) -> None:
    with ExitStack() as other:
        other.enter_context(hold_devices(frozenset({"fake"}), "run other", lambda *_: None))

        class Patient(KeptObserver):
            def note(self, text: str, reason: Reason | None = None) -> None:
                super().note(text)
                other.close()

        trial.observer = Patient()
        trial.run(ScriptedLauncher(measures_all))
    (note,) = trial.observer.notes
    holder = f"run other, process {os.getpid()}, which took it a moment ago"
    assert note == f"waiting for device fake, held by {holder}"
    assert trial.statuses() == ["ok"] * 3


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "interruption", [KeyboardInterrupt, pytest.param(ZeroDivisionError, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_is_merged_as_far_as_it_came(
    three_jobs: Trial, interruption: type[BaseException]
) -> None:
    def interrupts(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        raise interruption

    launcher = ScriptedLauncher(measures_all, interrupts)
    with pytest.raises(interruption):
        three_jobs.run(launcher)
    assert three_jobs.statuses() == ["ok"]
    assert launcher.running == 0
    waited: list[str] = []
    with hold_devices(frozenset({"fake"}), "next", lambda *who: waited.extend(who)):
        assert waited == []


@pytest.mark.usefixtures("database")
def test_a_full_disk_ends_the_run_with_what_it_has_merged(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    full = Exit(6, out_of_memory=False, log="No space left on device")
    with pytest.raises(StoreError, match="No space left"):
        trial.run(ScriptedLauncher(dies_in(2, full)))
    assert set(trial.statuses()) <= {"ok"}
    assert len(trial.folder.due(trial.folder.cells, 1)) == 3 - len(trial.statuses())


@pytest.mark.usefixtures("database")
def test_a_database_that_refuses_leaves_the_records(trial: Trial) -> None:
    trial.database.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError):
        trial.run(ScriptedLauncher(measures_all))
    statuses = [read_record(path).status for path in trial.folder.records.rglob("*.parquet")]
    assert statuses == ["ok"] * 3


@pytest.mark.parametrize(
    ("troubles", "failures", "missing", "exit_code"),
    [
        ((), 0, (), 0),
        ((), 2, (), 1),
        ((Unavailable("no device"),), 0, (), 0),
        ((Unavailable("no device"),), 1, (), 1),
        ((ImageError("no image"),), 1, (), 5),
        ((GONE,), 1, (), 4),
        ((Unavailable("no device"), ImageError("no image"), GONE), 0, (), 5),
        ((), 0, LACKING, 6),
        ((), 2, LACKING, 6),
        ((ImageError("no image"),), 0, LACKING, 5),
        ((GONE,), 2, LACKING, 4),
    ],
)
def test_missing_records_are_told_behind_the_engine_and_before_failures(
    troubles: tuple[BenchError, ...],
    failures: int,
    missing: tuple[MissingVerdicts, ...],
    exit_code: int,
) -> None:
    outcome = RunOutcome(MergeReport(missing=missing), troubles, failures, measured=1)
    assert outcome.exit_code == exit_code
    is_told = exit_code == StoreError.exit_code
    with pytest.raises(StoreError, match="1 of 3") if is_told else nullcontext():
        outcome.require_complete()


@pytest.mark.parametrize(
    ("purpose", "columns", "exit_code"),
    [
        ("verify", RIGHT, 0),
        ("verify", {"correct": False, "proof": "proven"}, 1),
        ("verify", {"correct": True, "proof": "contradicted"}, 1),
        ("verify", {"correct": None, "proof": "proven"}, 1),
        ("verify", {"status": "unsupported"}, 3),
        ("measure", {"correct": True, "proof": "contradicted"}, 0),
        ("verify", {"backend": "fake", "correct": None, "proof": "none"}, 0),
    ],
)
def test_verifying_passes_only_what_is_right_on_the_claimed_device(
    tmp_path: Path, purpose: Purpose, columns: dict[str, Any], exit_code: int
) -> None:
    is_fake = "backend" in columns
    cell = fake_cell() if is_fake else fake_cell(backend="cpu", runtime="torch")
    trial = Trial(tmp_path, a_plan([cell]), purpose)
    assert trial.run(ScriptedLauncher(answering(columns))).exit_code == exit_code


def test_a_run_occupies_no_device_of_cells_that_it_skips(tmp_path: Path) -> None:
    cells = [fake_cell(), fake_cell(backend="cuda", runtime="torch")]
    plan = a_plan(cells)
    ran, absent = plan.entries
    absent = replace(absent, decision="skip", status="unavailable")
    trial = Trial(tmp_path, plan.model_copy(update={"entries": (ran, absent)}), "time")
    assert devices_of(trial.folder) == {"fake"}


def test_who_waits_for_a_run_learns_how_long_it_takes(trial: Trial, tmp_path: Path) -> None:
    entries = tuple(replace(entry, launch_s=20.0) for entry in trial.folder.run.plan.entries)
    plan = trial.folder.run.plan.model_copy(update={"entries": entries})
    trial.folder.run = trial.folder.run.model_copy(update={"plan": plan})
    assert sum(estimates_s(trial.folder, trial.folder.cells).values()) == pytest.approx(23.0)
    heard: list[str] = []

    def refuse(device: str, holder: str) -> None:
        heard.append(holder)
        raise RuntimeError(device)

    def looks(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        with pytest.raises(RuntimeError), hold_devices(frozenset({"fake"}), "another", refuse):
            pass
        return measures_all(job, out, lines)

    trial.run(ScriptedLauncher(looks))
    assert heard[0].startswith(f"run {trial.folder.run.run_id} (about 23s in all), process ")
