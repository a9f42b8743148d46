"""Whatever a job leaves in its output folder: one verdict a cell, and nothing outside touched."""

import os
import socket
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue

import pytest

from orchestrator.commands.database.maintain import maintain_results
from orchestrator.commands.database.retention import RetentionPolicy
from orchestrator.commands.measure.run import failed_traces
from orchestrator.launchers.base import Exit
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.sweep import MOST_REFUSED, sweep_jobs
from orchestrator.store.store import Store
from runner.contract.job import Job
from runner.contract.record.files import save_record
from tests.support.fakes import KeptObserver, Script, ScriptedLauncher, finish, measures_all, record
from tests.support.jobs import fake_cell
from tests.support.records import record_for
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder

Leave = Callable[[Path, Path], None]
"""Leaves something at a path; the second one is a file of the host."""
SECRET = "what only the host knows"


def fifo(path: Path, host: Path) -> None:
    os.mkfifo(path)


def link(path: Path, host: Path) -> None:
    path.symlink_to(host)


def device_link(path: Path, host: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path, host: Path) -> None:
    path.symlink_to(path.name)


def folder_of(path: Path, host: Path) -> None:
    path.mkdir()
    (path / "in the way").write_text("")


def shut_folder(path: Path, host: Path) -> None:
    folder_of(path, host)
    path.chmod(0)


def hard_link(path: Path, host: Path) -> None:
    path.write_text("two names")
    os.link(path, path.with_name("second-name"))


def server(path: Path, host: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


def large(path: Path, host: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


def garbage(path: Path, host: Path) -> None:
    path.write_bytes(b"\0" * 100)


EVERYTHING: list[Leave] = [
    fifo,
    link,
    device_link,
    loop,
    folder_of,
    shut_folder,
    hard_link,
    server,
    large,
    garbage,
]
_FAST = (link, shut_folder, garbage)
CASES = [
    pytest.param(leave, id=leave.__name__, marks=() if leave in _FAST else pytest.mark.slow)
    for leave in EVERYTHING
]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    path = tmp_path / "host.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return a_run_folder(tmp_path / "results", a_plan([fake_cell(1), fake_cell(2)], rounds=2))


def measured_with(folder: RunFolder, script: Script) -> tuple[dict[str, str], KeptObserver, int]:
    """The verdicts of a run whose launches play this script, what it said and its exit code."""
    observer, database = KeptObserver(), folder.path.parent / "benchmarks.duckdb"
    options = RunOptions(database=database, scratch=True)
    run = RunExecution(folder, ScriptedLauncher(script), observer, options, engine_grace_s=0)
    exit_code = run.run().exit_code
    with Store.open_readonly(database) as store:
        return dict(store.verdicts(folder.run.run_id)), observer, exit_code


def leaving(leave: Leave, names: Sequence[str], host: Path) -> Script:
    """A launch that measures everything, then leaves something in the place of these names."""

    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        for cell in job.cells:
            record(lines, job, cell, out)
        for name in names:
            (out / name).unlink(missing_ok=True)
            (out / "second-name").unlink(missing_ok=True)
            leave(out / name, host)
        return finish(lines)

    return script


FIRST = fake_cell(1).id


@pytest.mark.representatives(1)
@pytest.mark.timeout(60)
@pytest.mark.parametrize("leave", CASES)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param([f"{FIRST}.parquet"], id="record"),
        pytest.param(
            [f".{FIRST}.parquet.tmp", f"{FIRST}.round1.json", f"{FIRST}.trace.failed"],
            id="others",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_whatever_has_the_name_of_a_file_costs_its_cell_at_most(
    folder: RunFolder, host: Path, leave: Leave, names: Sequence[str]
) -> None:
    verdicts, observer, exit_code = measured_with(folder, leaving(leave, names, host))
    first, second = folder.cells
    assert set(verdicts) == {first.id, second.id}
    assert verdicts[second.id] == "ok"
    assert (verdicts[first.id], exit_code) == ("lost", 6)
    assert host.read_text() == SECRET
    assert SECRET not in "".join([*failed_traces(folder).values(), *observer.notes])
    out = folder.out(first.job_id)
    assert all(path.is_file() and not path.is_symlink() for path in out.iterdir())


ODD = [
    "stray.parquet",
    "a\nb\x1b[2J",
    "x" * 255,
    "ü\u202e",
    os.fsdecode(b"\xff\xfe"),
    ".hidden.tmp",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("leave", [fifo, link, folder_of, shut_folder, garbage])
def test_what_has_no_known_name_is_set_aside_and_named_once(
    folder: RunFolder, host: Path, leave: Leave
) -> None:
    out = folder.out(folder.cells[0].job_id)
    for name in ODD:
        leave(out / name, host)
    notes: list[str] = []
    sweep_jobs(folder, folder.jobs, notes.append)
    (note,) = notes
    assert f"set aside {len(ODD)} of what it left" in note
    assert note.isprintable()
    assert list(out.iterdir()) == []
    (aside,) = (folder.path / "refused").iterdir()
    assert stat.S_IMODE(aside.parent.stat().st_mode) == 0o700
    names = [path.name for path in aside.iterdir()]
    assert len(names) == len(ODD)
    assert all(name.endswith(".refused") and name.isascii() for name in names)
    sweep_jobs(folder, folder.jobs, notes.append)
    assert (len(notes), host.read_text()) == (1, SECRET)


def test_modes_that_let_others_act_or_change_are_stripped(folder: RunFolder) -> None:
    cell = folder.cells[0]
    folder.save(record_for(folder.run.job([cell], SOMEWHERE), cell))
    stray = folder.out(cell.job_id) / "sh"
    stray.write_text("")
    for path in (folder.file_of(cell), stray):
        path.chmod(0o7777)
    shut = folder.file_of(cell).with_suffix(".log")
    shut.write_text("")
    shut.chmod(0)
    sweep_jobs(folder, folder.jobs, lambda note: None)
    assert stat.S_IMODE(folder.file_of(cell).stat().st_mode) == 0o755
    assert stat.S_IMODE(shut.stat().st_mode) == 0o600
    (kept,) = folder.path.glob("refused/*/*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.timeout(120)
def test_a_flood_of_files_is_set_aside_as_a_whole(folder: RunFolder) -> None:
    first, second = folder.cells
    for cell in (first, second):
        folder.save(record_for(folder.run.job([cell], SOMEWHERE), cell))
    out = folder.out(first.job_id)
    for number in range(MOST_REFUSED * 3):
        (out / f"{number}.parquet").touch()
    folder.file_of(second).unlink()
    folder.file_of(second).symlink_to("/dev/zero")
    notes: list[str] = []
    sweep_jobs(folder, folder.jobs, notes.append)
    assert [path.name for path in out.iterdir()] == [f"{first.id}.parquet"]
    assert f"set aside more than {MOST_REFUSED}" in notes[0]
    assert folder.verdicts() == {first.id: "ok"}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_depth_harms_neither_the_run_nor_its_removal(folder: RunFolder) -> None:
    def nests(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        end = measures_all(job, out, lines)
        here = Path.cwd()
        os.chdir(out)
        try:
            for _ in range(1_200):
                os.mkdir("a" * 9)  # noqa: PTH102
                os.chdir("a" * 9)
            save_record(record_for(job, job.cells[0], run_id="other"), Path())
        finally:
            os.chdir(here)
        return end

    verdicts, _, exit_code = measured_with(folder, nests)
    assert (set(verdicts.values()), exit_code) == ({"ok"}, 0)
    results = folder.path.parent
    policy = RetentionPolicy(named=(folder.run.run_id,))
    maintain_results(results, results / "benchmarks.duckdb", policy)
    assert not folder.path.exists()
    assert not list(results.glob(".*dropped"))


@pytest.mark.representatives(1)
@pytest.mark.timeout(60)
@pytest.mark.parametrize("leave", CASES)
def test_what_a_killed_run_left_does_not_end_its_resumption(
    folder: RunFolder, host: Path, leave: Leave
) -> None:
    out = folder.out(folder.cells[0].job_id)
    for name in (f"{FIRST}.parquet", f".{FIRST}.parquet.tmp", f"{FIRST}.parquet.damaged"):
        leave(out / name, host)
        (out / "second-name").unlink(missing_ok=True)
    verdicts, _, exit_code = measured_with(folder, measures_all)
    assert (verdicts, exit_code) == ({cell.id: "ok" for cell in folder.cells}, 0)
    assert host.read_text() == SECRET


@pytest.mark.timeout(60)
def test_a_foreign_record_is_told_at_the_end_of_the_run(folder: RunFolder, host: Path) -> None:
    def foreign(path: Path, host: Path) -> None:
        cell = folder.cells[0]
        claims = record_for(folder.run.job([cell], SOMEWHERE), cell, run_id="other")
        save_record(claims, path.parent)

    verdicts, _, exit_code = measured_with(folder, leaving(foreign, [f"{FIRST}.parquet"], host))
    assert (verdicts[FIRST], exit_code) == ("lost", 6)
    with Store.open_readonly(folder.path.parent / "benchmarks.duckdb") as store:
        assert [run.run_id for run in store.runs()] == [folder.run.run_id]
