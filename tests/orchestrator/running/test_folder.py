"""`run.json`: its id is the name of a folder, and its size is bounded."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.commands.measure.run import failed_traces, saved_traces
from orchestrator.planning.plan import side_by_side
from orchestrator.running import run_file
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import new_run_id, read_run_file
from orchestrator.store.records.validate import read_record
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, StoreError, UsageError
from runner.contract.job import Provenance
from runner.contract.record.verdict import Status
from tests.support.jobs import fake_cell
from tests.support.records import record_for
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import words_of

SOMEWHERE = Provenance(launcher="docker", image="an-image", orchestrator_version="0")


def give(folder: RunFolder, cell: Cell, status: Status) -> Path:
    record = record_for(folder.run.job([cell], SOMEWHERE), cell, status=status)
    folder.save(record)
    return folder.records / cell.job_id / f"{cell.id}.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return a_run_folder(tmp_path)


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    written = a_run_folder(tmp_path, a_plan(skips={fake_cell(8): "too large"}))
    read = RunFolder.open(tmp_path, "run-1")
    assert (read.path, read.run) == (written.path, written.run)
    assert [cell.batch_size for cell in read.cells] == [1, 2, 4, 8]


def test_ids_sort_by_time(tmp_path: Path) -> None:
    ids = [new_run_id(tmp_path) for _ in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) > 1
    assert {len(run_id) for run_id in ids} == {len("20261121-115951-3fa2")}


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [("29991231-235959-00ff", "30000101-000000-0000"), ("99991231-235959-0000", None), ("x", None)],
)
def test_a_run_that_begins_after_the_clock_was_set_back_is_the_last(
    tmp_path: Path, ahead: str, expected: str | None
) -> None:
    a_run_folder(tmp_path, run_id=ahead)
    run_id = new_run_id(tmp_path)
    assert run_id == expected if expected else run_id.startswith("20")


def test_an_unknown_run_is_told_with_those_there_are(tmp_path: Path) -> None:
    for number in range(4):
        a_run_folder(tmp_path, run_id=f"run-{number}")
    with pytest.raises(UsageError, match="'nobody' is not a run in") as caught:
        RunFolder.open(tmp_path, "nobody")
    assert caught.value.hint == "the newest are run-3, run-2, run-1"


@pytest.mark.parametrize("run_id", ["last", "x", "..", ""])
def test_without_runs_there_is_none_to_open(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UsageError) as caught:
        RunFolder.open(tmp_path / "results", run_id)
    assert caught.value.hint == "there is none yet"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Invalid JSON: EOF while parsing an object"),
        ('{"run_id": 3}', "options: Field required"),
        ("[" * 200_000, "Invalid JSON: recursion limit exceeded"),
    ],
)
def test_a_damaged_run_file_is_named_with_the_cause(
    folder: RunFolder, content: str, reason: str
) -> None:
    (folder.path / "run.json").write_text(content)
    with pytest.raises(StoreError, match=r"run\.json: cannot be read") as caught:
        RunFolder.open(folder.path.parent, "run-1")
    assert reason in str(caught.value)


def test_a_run_file_that_is_a_link_is_not_followed(folder: RunFolder, tmp_path: Path) -> None:
    target = (folder.path / "run.json").rename(tmp_path / "elsewhere.json")
    (folder.path / "run.json").symlink_to(target)
    with pytest.raises(StoreError, match="is a symbolic link, not a plain file"):
        RunFolder.open(folder.path.parent, "run-1")


def test_a_folder_that_cannot_be_made_or_is_taken_is_told(folder: RunFolder) -> None:
    run_file = folder.path / "run.json"
    kept = run_file.read_bytes()
    for results in (run_file, folder.path.parent):
        with pytest.raises(StoreError, match="cannot be made") as caught:
            a_run_folder(results)
        assert "--results" in str(caught.value.hint)
    assert run_file.read_bytes() == kept


def test_every_attempt_has_a_job_file_and_a_log_of_its_own(folder: RunFolder) -> None:
    job = folder.run.job(folder.cells, SOMEWHERE)
    first, second = folder.job_files.write(job), folder.job_files.write(job)
    folder.write_log(second, "last words: ü")
    assert [first.name, second.name] == [f"{job.id}.1.json", f"{job.id}.2.json"]
    logs = {path.name: path.read_text() for path in (folder.path / "logs").iterdir()}
    assert logs == {f"{job.id}.2.log": "last words: ü"}
    give(folder, folder.cells[0], "ok")
    assert list(folder.path.rglob(".*")) == []


def test_a_damaged_record_counts_as_missing_and_is_kept_aside(folder: RunFolder) -> None:
    path = give(folder, folder.cells[0], "ok")
    content = path.read_bytes()[:100]
    path.write_bytes(content)
    assert folder.record_of(folder.cells[0]) is None
    assert not path.exists()
    assert path.with_name(path.name + ".damaged").read_bytes() == content
    assert folder.due(folder.cells, 1) == folder.cells


def test_damaged_records_are_replaced_by_lost_ones(folder: RunFolder) -> None:
    sound, broken = (give(folder, cell, "ok") for cell in folder.cells[:2])
    kept = sound.read_bytes()
    broken.write_bytes(b"PAR1")
    moved, lost = folder.set_aside([broken, folder.path / "no record of ours.parquet"])
    (aside,) = moved.values()
    assert lost == [broken]
    assert aside.read_bytes() == b"PAR1"
    record = read_record(broken)
    assert (record.status, words_of(record.ending)) == (
        "lost",
        f"its record was damaged and lies in {aside.name}",
    )
    assert sound.read_bytes() == kept
    assert folder.unsound([cell.id for cell in folder.cells]) == {}
    assert folder.due(folder.cells, 1) == folder.cells[2:]


def test_a_lost_verdict_is_older_than_any_measurement_of_its_cell(folder: RunFolder) -> None:
    path = give(folder, folder.cells[0], "ok")
    measured_at = read_record(path).recorded_at
    path.write_bytes(b"")
    folder.set_aside(folder.unsound([folder.cells[0].id]))
    assert read_record(path).recorded_at == folder.run.started_at < measured_at


def test_verdicts_of_cells_without_a_chance_are_forgotten(folder: RunFolder) -> None:
    for cell, status in zip(folder.cells, ("failed", "lost", "unavailable"), strict=True):
        give(folder, cell, status)  # type: ignore[arg-type]
    assert folder.unfinished() == folder.cells[1:]
    folder.forget_retried()
    assert folder.due(folder.cells, 1) == folder.cells[1:]
    assert folder.verdicts() == {folder.cells[0].id: "failed"}


@pytest.mark.parametrize("status", ["lost", None])
def test_what_is_measured_beside_a_due_cell_is_due_with_it(
    tmp_path: Path, status: Status | None
) -> None:
    """A ratio is one of the same moments; what failed for good is compared with nothing."""
    cells = [fake_cell(size, threads=threads) for threads in (1, 2, 4) for size in (1, 2)]
    folder = a_run_folder(tmp_path, side_by_side(a_plan(cells), [(cells, None)]))
    small, large = cells[::2], cells[1::2]
    for cell in (small[0], *large):
        give(folder, cell, "ok")
    give(folder, small[1], "failed")
    if status:
        give(folder, small[2], status)
    assert folder.beside([small[2]]) == [small[0]]
    assert folder.unfinished() == [small[0], small[2]]
    folder.forget_retried()
    assert folder.verdicts() == dict.fromkeys((cell.id for cell in large), "ok") | {
        small[1].id: "failed"
    }


def test_traces_and_their_failures_are_found_beside_the_records(folder: RunFolder) -> None:
    first, second, _ = folder.cells
    out = folder.out(first.job_id)
    for name in (f"{first.id}.trace.json", f"{first.id}.operators.txt", "stranger.trace.json"):
        (out / name).write_text("")
    (out / f"{second.id}.trace.failed").write_text("no profiler here")
    (out / "stranger.trace.failed").write_text("nobody asked")
    assert saved_traces(folder) == [out / f"{first.id}.trace.json"]
    assert failed_traces(folder) == {second.id: "no profiler here"}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\xff\xfe no text", "\ufffd\ufffd no text"),
        (b"\n\x1b[2J red\nsecond", "\\u001b[2J red"),
        (b"x" * 100_000, "x" * 300 + "…"),
        (b"", ""),
        (b"x" * ((1 << 20) + 1), None),
    ],
)
def test_the_reason_of_a_missing_trace_is_one_line(
    folder: RunFolder, content: bytes, line: str | None
) -> None:
    cell = folder.cells[0]
    (folder.out(cell.job_id) / f"{cell.id}.trace.failed").write_bytes(content)
    assert failed_traces(folder).get(cell.id) == line


@pytest.mark.parametrize("gone", ["jobs", "logs", "records"])
def test_what_cannot_be_written_is_told(folder: RunFolder, gone: str) -> None:
    job = folder.run.job(folder.cells, SOMEWHERE)
    job_file = folder.path / "jobs" / "a.1.json"
    shutil.rmtree(folder.path / gone)
    actions: dict[str, Callable[[], object]] = {
        "jobs": lambda: folder.job_files.write(job),
        "logs": lambda: folder.write_log(job_file, "log"),
        "records": lambda: folder.out(job.id),
    }
    with pytest.raises(StoreError, match=f"{gone}.*: cannot be written: No such file") as caught:
        actions[gone]()
    assert "--resume last" in str(caught.value.hint)


@pytest.mark.parametrize(
    "run_id", ["../outside", "/tmp", "..", ".hidden", "", "a/b", "a b", "a\n", "\x1b[1m", "x" * 241]
)
def test_an_id_that_is_no_name_of_a_folder_is_damage(tmp_path: Path, run_id: str) -> None:
    path = a_run_folder(tmp_path).path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run_id": run_id}))
    with pytest.raises(DamagedFile, match="run_id"):
        read_run_file(path)


def test_a_file_beyond_the_bound_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_run_folder(tmp_path)
    size = (folder.path / "run.json").stat().st_size
    monkeypatch.setattr(run_file, "RUN_BYTES", size - 1)
    with pytest.raises(DamagedFile, match=f"has {size:,} bytes"):
        read_run_file(folder.path / "run.json")
    with pytest.raises(UsageError, match="the plan of 3 cells takes") as caught:
        a_run_folder(tmp_path, run_id="run-2")
    assert "--select" in str(caught.value.hint)
    assert not (tmp_path / "run-2").exists()


def test_a_hundred_thousand_cells_fit(tmp_path: Path) -> None:
    """Each takes some more room than one of three does beyond what they share."""
    run = a_run_folder(tmp_path).run
    entries = run.plan.entries
    fewer = run.model_copy(update={"plan": run.plan.model_copy(update={"entries": entries[:1]})})
    grown = len(run.model_dump_json()) - len(fewer.model_dump_json())
    assert 100_000 * grown / (len(entries) - 1) < run_file.RUN_BYTES
