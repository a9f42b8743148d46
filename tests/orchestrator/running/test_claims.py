"""A record counts only as the record that was asked for, whatever it says of itself."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.store.merge.expected import leave_out_strangers
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.merge.staging import stage
from orchestrator.store.query.ask import query
from orchestrator.store.records.compact import compact, compact_files
from orchestrator.store.store import Store
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.record.files import save_record, to_table, write_records
from runner.contract.record.ids import hardware_id
from runner.contract.record.record import Record
from tests.support.jobs import a_spread, fake_cell
from tests.support.records import record_for
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder

Columns = Mapping[str, Any]
SLOW = pytest.mark.slow
CELLS = tuple(map(fake_cell, (1, 2, 4, 8, 16, 32)))


@pytest.fixture(scope="module")
def finished_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two runs of the same cells, one of them in the database."""
    results = tmp_path_factory.mktemp("finished") / "results"
    other = finished(results, "other")
    merge_run(other, database(other))
    finished(results, "run-1")
    return results


@pytest.fixture
def folder(tmp_path: Path, finished_runs: Path) -> RunFolder:
    """A run whose first cell's record is what a test makes of it; the others are sound."""
    results = shutil.copytree(finished_runs, tmp_path / "results", symlinks=True)
    return RunFolder.open(results, "run-1")


def finished(results: Path, run_id: str, cells: Sequence[Cell] = CELLS) -> RunFolder:
    folder = a_run_folder(results, a_plan(cells), run_id)
    for cell in folder.cells:
        folder.save(record_for(folder.run.job([cell], SOMEWHERE), cell))
    return folder


def database(folder: RunFolder) -> Path:
    return folder.path.parent / "benchmarks.duckdb"


def claiming(folder: RunFolder, claims: Columns, number: int = 0) -> Record:
    """A record of the cell of this number that says other things of itself."""
    cell = folder.cells[number]
    return record_for(folder.run.job([cell], SOMEWHERE), cell).model_copy(update=dict(claims))


def leave(folder: RunFolder, record: Record, *parts: str) -> Path:
    """Save a record under the first cell's name, or under these names below the records."""
    name = parts or (folder.cells[0].job_id, f"{folder.cells[0].id}.parquet")
    path = folder.records.joinpath(*name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_records(to_table([record]), file)
    return path


def rows_of(folder: RunFolder, run_id: str) -> list[dict[str, Any]]:
    return query(
        database(folder), f"SELECT * FROM benchmark_results WHERE run_id = '{run_id}' ORDER BY ALL"
    ).to_pylist()


def verdicts(folder: RunFolder) -> dict[str, str]:
    with Store.open_readonly(database(folder)) as store:
        return dict(store.verdicts(folder.run.run_id))


CLAIMS: list[Columns] = [
    {"run_id": "other"},
    {"run_id": "../other"},
    {"run_id": "invented"},
    {"job_id": "another-job"},
    {"cell_id": CELLS[1].id},
    {"run_id": "other", "cell_id": CELLS[1].id},
    {"cell_id": "/some/folder/name"},
    {"model": "another-model"},
    {"backend": "cuda", "runtime": "torch"},
    {"runtime": "torch"},
    {"precision": "int8"},
    {"batch_size": 64},
    {"sequence_length": None},
    {"mode": "training"},
    {"scenario": "offline"},
]


IMAGE = SOMEWHERE.model_copy(
    update={
        "image": "x/accelmatrix-cpu:1",
        "image_digest": f"sha256:{'a' * 64}",
        "image_labels": {"a": "b"},
    }
)


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("claims", "counts"),
    [
        ({}, True),
        ({"image_digest": f"sha256:{'b' * 64}"}, False),
        ({"image": None, "image_digest": None}, False),
        ({"image_labels": {"org.accelmatrix.image": "built here"}}, False),
        ({"launcher": "docker"}, False),
        ({"git_commit": "0" * 40}, False),
        ({"seed": 99}, False),
        ({"weights_seed": 99}, False),
    ],
    ids=str,
)
def test_a_record_is_of_the_image_that_its_job_was_started_in(
    folder: RunFolder, claims: Columns, counts: bool
) -> None:
    cell = folder.cells[0]
    for provenance in (SOMEWHERE, IMAGE):  # resumed in another image
        job = folder.run.job([cell], provenance)
        folder.job_files.write(job)
    path = leave(folder, record_for(job, cell).model_copy(update=dict(claims)))
    assert (folder.record_of(cell) is not None) == counts
    assert path.exists() == counts


def test_a_record_brings_the_calibration_of_its_device_or_none(folder: RunFolder) -> None:
    cell, own, others = folder.cells[0], hardware_id({}), "0" * 16
    spreads = {f"fake/fake/{own}": a_spread(0.01), f"fake/fake/{others}": a_spread(0.02)}
    folder.run = folder.run.model_copy(update={"process_spreads": spreads})
    job = folder.run.job([cell], SOMEWHERE)
    folder.job_files.write(job)
    for device, counts in ((own, True), (None, True), (others, False)):
        record = record_for(job.on_hardware(device), cell, hardware_id=own)
        path = leave(folder, record)
        assert (folder.record_of(cell) is not None) == counts
        assert path.exists() == counts


def test_after_a_launch_a_record_is_of_that_launch(folder: RunFolder) -> None:
    cell = folder.cells[0]
    earlier, launched = (folder.run.job([cell], provenance) for provenance in (IMAGE, SOMEWHERE))
    for job in (earlier, launched):
        folder.job_files.write(job)
    leave(folder, record_for(launched, cell))
    assert folder.due([cell], 1, launched) == []
    path = leave(folder, record_for(earlier, cell))
    assert folder.due([cell], 1) == []
    assert folder.due([cell], 1, launched) == [cell]
    assert not path.exists()


def test_a_verdict_without_a_launch_counts_and_a_measurement_does_not(folder: RunFolder) -> None:
    cell = folder.cells[0]
    folder.job_files.write(folder.run.job([cell], IMAGE))
    record = record_for(folder.run.job([cell], folder.nowhere), cell)
    leave(folder, record.model_copy(update={"status": "lost"}))
    assert folder.record_of(cell)
    leave(folder, record)
    assert folder.record_of(cell) is None


def by_name(run: RunFolder, into: Path) -> MergeReport:
    return merge_paths([run.path], into, scratch=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", [merge_run, by_name])
def test_foreign_records_under_planned_names_are_damage(
    folder: RunFolder, way: Callable[[RunFolder, Path], MergeReport]
) -> None:
    before = rows_of(folder, "other")
    *foreign, sound = folder.cells
    paths = set()
    for number, (cell, claims) in enumerate(zip(foreign, CLAIMS[:5], strict=True)):
        record = claiming(folder, claims, number)
        path = leave(folder, record, cell.job_id, f"{cell.id}.parquet")
        paths.add(path.with_name(f"{path.name}.damaged"))
    report = way(folder, database(folder))
    assert {file.path for file in report.damaged} == paths
    assert all("it was set aside" in file.reason for file in report.damaged)
    assert verdicts(folder) == dict.fromkeys((cell.id for cell in foreign), "lost") | {
        sound.id: "ok"
    }
    assert rows_of(folder, "other") == before
    with Store.open_readonly(database(folder)) as store:
        assert {run.run_id for run in store.runs()} == {"other", "run-1"}
    with pytest.raises(StoreError, match="5 damaged files were left out") as caught:
        report.require_complete()
    assert caught.value.exit_code == 6


@pytest.mark.slow
def test_no_reader_takes_one_for_a_verdict(tmp_path: Path) -> None:
    cells = [fake_cell(size) for size in range(1, len(CLAIMS) + 2)]
    folder = finished(tmp_path, "run-1", cells)
    *foreign, sound = folder.cells

    def leave_all() -> list[Path]:
        return [
            leave(folder, claiming(folder, claims, number), cell.job_id, f"{cell.id}.parquet")
            for number, (cell, claims) in enumerate(zip(foreign, CLAIMS, strict=True))
        ]

    paths = leave_all()
    with duckdb.connect() as connection:
        damaged = stage(connection, folder.files).damaged
        damaged += leave_out_strangers(connection, folder.expected)
        assert sorted(file.path for file in damaged) == sorted(paths)
        rows = connection.sql("SELECT cell_id FROM incoming").fetchall()
        assert rows == [(sound.id,)]
    leave_all()
    assert [folder.record_of(cell) for cell in foreign] == [None] * len(foreign)
    assert folder.due(folder.cells, 1) == foreign
    assert not any(path.exists() for path in paths)
    assert folder.unfinished() == foreign


STRAY = (
    ("stray.parquet",),
    (CELLS[0].job_id, "stray.parquet"),
    (CELLS[0].job_id, "nested", "deeper", f"{CELLS[0].id}.parquet"),
    ("another-job", f"{CELLS[0].id}.parquet"),
)


@pytest.mark.parametrize(
    "run_id", ["invented", pytest.param("run-1", marks=SLOW), pytest.param("other", marks=SLOW)]
)
def test_a_stray_record_is_named_and_not_merged(folder: RunFolder, run_id: str) -> None:
    before = rows_of(folder, "other")
    record = claiming(folder, {"run_id": run_id, "status": "failed"})
    paths = {leave(folder, record, *parts) for parts in STRAY}
    report = merge_paths([folder.path.parent], database(folder), scratch=True)
    assert {damaged.path for damaged in report.damaged} == paths
    assert len(report.damaged) == len(STRAY)
    assert all(path.exists() for path in paths)
    assert rows_of(folder, "other") == before
    assert set(verdicts(folder).values()) == {"ok"}
    with pytest.raises(StoreError, match=r"stray|is the record of no planned cell"):
        report.require_complete()


@pytest.mark.parametrize(
    "where",
    [
        "graphs/key",
        pytest.param("references", marks=SLOW),
        pytest.param("preparations/one", marks=SLOW),
    ],
)
def test_what_jobs_leave_where_artifacts_are_made_is_no_record(
    folder: RunFolder, where: str
) -> None:
    target = folder.path.parent / where
    target.mkdir(parents=True)
    save_record(claiming(folder, {"run_id": "invented"}), target)
    report = merge_paths([folder.path.parent.parent], database(folder), scratch=True)
    assert report == MergeReport(inserted=len(CELLS), unchanged=len(CELLS))
    with Store.open_readonly(database(folder)) as store:
        assert {run.run_id for run in store.runs()} == {"other", "run-1"}


def with_foreign_rows(folder: RunFolder, *records: Record) -> Path:
    """Compact the run's records, and put these rows into the compact file."""
    compact(folder.records, folder.run.run_id, [cell.id for cell in folder.cells])
    (path,) = compact_files(folder.records)
    table = pq.read_table(path)
    foreign = to_table(list(records)).select(table.column_names).cast(table.schema)
    pq.write_table(pa.concat_tables([table, foreign]), path)
    return path


@pytest.mark.parametrize(
    "limit", [pytest.param(1_000_000, id="small"), pytest.param(0, id="large", marks=SLOW)]
)
def test_foreign_rows_of_a_compact_file_go_nowhere(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("orchestrator.store.merge.staging.SMALL_FILE_BYTES", limit)
    before = rows_of(folder, "other")
    foreign = [
        claiming(folder, {"run_id": "other", "status": "failed"}),
        claiming(folder, {"cell_id": "unplanned"}),
        claiming(folder, {"run_id": "invented", "job_id": "another"}),
    ]
    path = with_foreign_rows(folder, *foreign)
    report = merge_run(folder, database(folder))
    assert report.inserted == len(CELLS)
    (damaged,) = report.damaged
    assert damaged.path == path
    assert damaged.reason.startswith("3 rows left out; the first is not the record")
    assert rows_of(folder, "other") == before
    assert verdicts(folder) == {cell.id: "ok" for cell in folder.cells}
    assert set(folder.verdicts().values()) == {"ok"}
    with pytest.raises(DamagedFile, match="holds a record of"):
        compact(folder.records, "run-1", [cell.id for cell in folder.cells])


def test_unpacking_writes_records_of_planned_cells_alone(folder: RunFolder) -> None:
    lost = folder.cells[1]
    folder.save(record_for(folder.run.job([lost], SOMEWHERE), lost, status="lost"))
    outside = folder.path.parent / "outside"
    outside.mkdir()
    away = claiming(folder, {"job_id": str(outside), "cell_id": "name", "status": "lost"})
    path = with_foreign_rows(folder, away)
    folder.forget_retried()
    assert list(outside.iterdir()) == []
    assert [file.name for file in folder.records.glob("compact*")] == [f"{path.name}.damaged"]
    assert folder.unfinished() == [lost]


def test_resuming_deletes_no_file_that_a_record_names(folder: RunFolder) -> None:
    outside = folder.path.parent / "outside"
    kept = leave(folder, claiming(folder, {}), str(outside), "name.parquet")
    claims = {"status": "lost", "job_id": str(outside), "cell_id": "name"}
    leave(folder, claiming(folder, claims))
    folder.forget_retried()
    assert kept.exists()
    assert folder.unfinished() == [folder.cells[0]]


def test_cells_without_a_verdict_are_counted_against_the_plan(folder: RunFolder) -> None:
    folder.file_of(folder.cells[0]).unlink()
    report = merge_run(folder, database(folder))
    with pytest.raises(StoreError) as caught:
        report.require_complete()
    assert str(caught.value) == (
        f"run run-1: 1 of 6 planned cells has no verdict: {folder.cells[0].id}"
    )
    assert caught.value.hint == "`orchestrator run --resume run-1` measures what is missing"


def test_what_is_in_quarantine_is_not_missing(folder: RunFolder) -> None:
    merge_run(folder, database(folder))
    cell_id = folder.cells[0].id
    with Store.open(database(folder), scratch=True) as store:
        store._connection.execute(
            "INSERT INTO quarantine SELECT result_id, run_id, 'benchmark_results', 'x', now(),"
            " recorded_at, '{}' FROM benchmark_results WHERE result_id = ?",
            [f"run-1/{cell_id}"],
        )
        store.forget([f"run-1/{cell_id}"])
    assert merge_run(folder, database(folder)).missing == ()


def test_records_without_a_plan_count_by_the_names_of_their_files(folder: RunFolder) -> None:
    before = rows_of(folder, "other")
    (folder.path / "run.json").write_text("{")
    path = leave(folder, claiming(folder, {"run_id": "other", "status": "failed"}))
    stray = leave(folder, claiming(folder, {}), "stray.parquet")
    report = merge_paths([folder.path.parent], database(folder), scratch=True)
    assert {damaged.path for damaged in report.damaged} == {path, stray, folder.path / "run.json"}
    assert rows_of(folder, "other") == before
    assert verdicts(folder) == {cell.id: "ok" for cell in folder.cells[1:]}
