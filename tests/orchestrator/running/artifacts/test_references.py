"""A reference is computed before the first job that needs it, once, and kept for later runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from zipfile import ZipFile

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.running.artifacts.cache import preparation_limits, versions_of
from orchestrator.running.artifacts.references import References
from orchestrator.running.execute_job import LaunchContext
from orchestrator.screen.words.reasons import reason_text
from runner.contract.artifact_keys import REFERENCES, reference_key
from runner.contract.axes import Backend
from runner.contract.cell import Cell, Purpose
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    StoreError,
    Unavailable,
)
from runner.contract.job import Job, Limits, Provenance
from runner.contract.reasons import parse_reason
from tests.support.fakes import (
    KeptObserver,
    Script,
    ScriptedLauncher,
    enter,
    fill_disk,
    measures_all,
)
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan, a_run_folder

HERE = Provenance(launcher="process", orchestrator_version="0")
WELL = Exit(0, out_of_memory=False, log="")


class Trial:
    """A run with cells of the cpu backend, and the references beside it."""

    def __init__(
        self,
        results: Path,
        purpose: Purpose = "measure",
        machine_bytes: int | None = None,
        **limits: float,
    ) -> None:
        plan = a_plan([cpu_cell(1), cpu_cell(8)], limits=Limits.model_validate(limits))
        name = f"run-{len(list(results.glob('run-*')))}"
        self.folder = a_run_folder(results, plan, name, purpose)
        self.launcher = ScriptedLauncher(measures_all)
        self.observer = KeptObserver()
        self.refusal: BenchError | None = None
        context = LaunchContext(self.launcher, self.folder, self.observer)
        self.references = References(context, self, machine_bytes)

    @property
    def job(self) -> Job:
        """The job that is to be verified."""
        return self.folder.run.job(self.folder.cells, HERE)

    def ensure(self, job: Job | None = None) -> tuple[str, Path]:
        """The name of the job's reference, and the folder."""
        named, folder = self.references.ensure(job or self.job)
        assert named.reference is not None
        assert folder is not None
        return named.reference, folder

    def file(self, suffix: str) -> Path:
        """The reference, or what stands in its place."""
        made_by = versions_of(REFERENCES, in_images=False)
        name = reference_key(self.job.model, "forward", self.job.weights_seed, made_by)
        return self.folder.path.parent / "references" / f"{name}.{suffix}"

    def prepare(self, backend: Backend) -> Provenance:
        if self.refusal:
            raise self.refusal
        return HERE


def cpu_cell(batch_size: int, **changes: object) -> Cell:
    return fake_cell(batch_size, backend="cpu", runtime="torch", **changes)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    yield Trial(tmp_path)
    assert list(tmp_path.rglob("*.tmp")) == []


def test_it_is_computed_once_before_the_first_job(trial: Trial) -> None:
    place = trial.file("npz")
    assert trial.ensure() == trial.ensure() == (place.stem, place.parent)
    assert trial.file("npz").exists()
    assert len(trial.launcher.computed) == 1
    assert trial.observer.notes == ["computing the fp32 reference of scripted (forward)"]
    assert trial.observer.jobs == []


def test_the_job_that_computes_it_is_the_plainest_there_is(trial: Trial) -> None:
    job = trial.job.model_copy(
        update={"cells": (cpu_cell(8, precision="bf16"),), "trace": True, "round": 2}
    )
    trial.references.ensure(job)
    (computed,) = trial.launcher.computed
    (cell,) = computed.cells
    assert (cell.backend, cell.runtime, cell.precision) == ("cpu", "torch", "fp32")
    assert (cell.batch_size, cell.mode) == (1, "inference")
    assert (computed.purpose, computed.trace, computed.round) == ("reference", False, 1)
    assert computed.reference == trial.file("npz").stem
    (task,) = trial.launcher.tasks
    assert (task.references, task.out.parent) == (None, trial.file("npz").parent)
    assert not task.out.exists()


def test_it_tells_of_the_precisions_that_are_planned_and_keeps_those_it_told_of(
    trial: Trial,
) -> None:
    def computes(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        with ZipFile(out / f"{job.reference}.npz", "w") as file:
            file.writestr("outputs.npy", b"")
            for precision in job.honest:
                file.writestr(f"honest_difference.{precision}.outputs.npy", b"")
        lines.put(None)
        return WELL

    def ensure(*precisions: str) -> list[tuple[str, ...]]:
        later = Trial(trial.folder.path.parent)
        later.launcher.reference_script = computes
        for precision in precisions:
            cells = (cpu_cell(8, precision=precision),)
            later.references.ensure(later.job.model_copy(update={"cells": cells}))
        return [job.honest for job in later.launcher.computed]

    assert ensure("fp32") == [()]
    assert ensure("bf16") == [("bf16",)]
    assert ensure("int8", "int8") == [("bf16", "int8")]
    assert ensure("bf16", "fp32") == []


def test_whoever_generates_has_one_with_tokens(trial: Trial) -> None:
    generating = cpu_cell(8, mode="generation", new_tokens=4, precision="bf16")
    job = trial.job.model_copy(update={"cells": (generating,)})
    assert trial.ensure(job)[0] != trial.ensure()[0]
    assert [(each.id, each.cells[0].mode) for each in trial.launcher.computed] == [
        ("reference-scripted-generation", "generation"),
        ("reference-scripted-forward", "inference"),
    ]


@pytest.mark.parametrize("purpose", ["time", "reference"])
def test_who_verifies_nothing_needs_none(tmp_path: Path, purpose: Purpose) -> None:
    trial = Trial(tmp_path, purpose)
    assert trial.references.ensure(trial.job) == (trial.job, None)
    assert trial.launcher.computed == []


def says_failed(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    (out / f"{job.reference}.failed").write_text("its outputs hold NaN\n")
    lines.put(None)
    return WELL


def ends(end: Exit) -> Script:
    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        enter(lines, "load")
        (out / f".{job.reference}.npz.tmp").write_bytes(b"half")
        lines.put(None)
        return end

    return script


def words_in(path: Path) -> str:
    return reason_text(parse_reason(path.read_text()))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (says_failed, "its outputs hold NaN"),
        (
            ends(Exit(137, out_of_memory=True, log="")),
            "killed for exceeding the memory limit, in phase load",
        ),
        (ends(Exit(137, out_of_memory=False, log="")), "the runner died by SIGKILL in phase load"),
        (ends(WELL), "the runner ended well but left nothing that can be read"),
    ],
    ids=["failed", "oom", "killed", "silent"],
)
def test_what_keeps_it_from_being_computed_is_told_once_and_left_for_the_runner(
    trial: Trial, script: Script, reason: str
) -> None:
    trial.launcher.reference_script = script
    for _ in range(2):
        assert trial.ensure() == (trial.file("failed").stem, trial.file("failed").parent)
    assert words_in(trial.file("failed")) == reason
    assert len(trial.launcher.computed) == 1
    assert trial.observer.notes[1:] == [
        f"no reference of scripted (forward), so its outputs are not verified: {reason}"
    ]


def test_one_that_cannot_fit_is_not_tried(tmp_path: Path) -> None:
    trial = Trial(tmp_path, machine_bytes=50_000_000)
    trial.ensure()
    assert trial.launcher.computed == []
    reason = "predicted: in fp32 on the CPU it needs at least 0.1 GB of memory, and 0.05 GB may"
    assert words_in(trial.file("failed")).startswith(reason)
    (note,) = trial.observer.notes
    assert note.startswith(
        f"no reference of scripted (forward), so its outputs are not verified: {reason}"
    )


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"memory_bytes": 50_000_000}, (None, 1800.0)),
        ({"memory_bytes": 1 << 60}, (1 << 60, 1800.0)),
        ({"cell_timeout_s": 5, "output_bytes": 9, "cpus": 1}, (None, 1800.0)),
        ({"cell_timeout_s": 7200}, (None, 7200.0)),
    ],
    ids=["less memory", "more memory", "less of all", "more time"],
)
def test_limits_of_what_is_measured_do_not_hold_for_it(
    limits: dict[str, float], expected: tuple[int | None, float], tmp_path: Path
) -> None:
    trial = Trial(tmp_path, **limits)
    trial.ensure()
    (job,) = trial.launcher.computed
    assert (job.limits.memory_bytes, job.limits.cell_timeout_s) == expected
    assert (job.limits.output_bytes, job.limits.cpus) == (None, None)
    assert preparation_limits(trial.job) == job.limits


def test_a_later_run_tries_again(trial: Trial, tmp_path: Path) -> None:
    trial.launcher.reference_script = says_failed
    trial.references.ensure(trial.job)
    later = Trial(tmp_path)
    later.references.ensure(later.job)
    assert later.file("npz").exists()
    assert not later.file("failed").exists()


def flipped(whole: bytes) -> bytes:
    place = whole.index(b"outputs")
    return whole[:place] + b"0" + whole[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda whole: b"PK but no more", lambda whole: whole.replace(b".npy", b".txt"), flipped],
)
def test_a_damaged_reference_is_computed_anew(
    trial: Trial, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    trial.references.ensure(trial.job)
    whole = trial.file("npz").read_bytes()
    trial.file("npz").write_bytes(damage(whole))
    later = Trial(tmp_path)
    later.references.ensure(later.job)
    assert len(later.launcher.computed) == 1
    with ZipFile(trial.file("npz")) as mended:
        assert mended.testzip() is None
        assert mended.namelist() == ["outputs.npy"]


@pytest.mark.parametrize("refusal", [Unavailable("no torch here"), ImageError("no image")])
def test_without_a_place_to_compute_it_cells_go_unverified(
    trial: Trial, refusal: BenchError
) -> None:
    trial.refusal = refusal
    trial.ensure()
    told = f"the backend cpu makes it, and cannot be launched: {refusal}"
    assert words_in(trial.file("failed")) == told
    assert trial.launcher.computed == []


def test_an_engine_that_goes_away_is_no_reason_to_go_unverified(trial: Trial) -> None:
    def goes(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        raise EngineUnavailable("the engine went away")

    whole = trial.launcher.reference_script
    trial.launcher.reference_script = goes
    with pytest.raises(EngineUnavailable):
        trial.references.ensure(trial.job)
    trial.launcher.reference_script = whole
    trial.references.ensure(trial.job)
    assert trial.file("npz").exists()


def test_a_full_disk_ends_the_run(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    trial.launcher.reference_script = ends(Exit(6, out_of_memory=False, log="No space left"))
    with pytest.raises(StoreError, match="No space left"):
        trial.references.ensure(trial.job)
    assert not trial.file("npz").with_name(f".{trial.file('npz').name}.tmp").exists()
