"""Records of runs, and bare ones, in the database; damage costs no other cell."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.commands.exchange.merge import merge_paths, print_merged
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.validate import Damaged
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from runner.contract.job import Provenance
from runner.contract.record.files import save_record
from runner.contract.record.record import SCHEMA_VERSION
from runner.contract.record.verdict import Status
from tests.orchestrator.conftest import Screen
from tests.support.records import a_record, record_for
from tests.support.runs import a_run_folder

HERE = Provenance(launcher="process", orchestrator_version="0")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "benchmarks.duckdb"


def a_finished_run(results: Path, run_id: str = "run-1") -> RunFolder:
    folder = a_run_folder(results, run_id=run_id)
    for cell in folder.cells:
        give(folder, cell.batch_size, "ok")
    return folder


def give(folder: RunFolder, batch_size: int, status: Status) -> Path:
    (cell,) = (cell for cell in folder.cells if cell.batch_size == batch_size)
    folder.save(record_for(folder.run.job([cell], HERE), cell, status=status))
    return folder.records / cell.job_id / f"{cell.id}.parquet"


def verdicts(database: Path, run_id: str = "run-1") -> list[str]:
    with Store.open_readonly(database) as store:
        return sorted(store.verdicts(run_id).values())


def merge(path: Path, database: Path) -> MergeReport:
    return merge_paths([path], database, scratch=True)


def test_a_run_is_merged_once_and_ends_with_its_last_cell(results: Path, database: Path) -> None:
    folder = a_run_folder(results)
    give(folder, 1, "ok")
    give(folder, 2, "ok")
    assert merge_run(folder, database).inserted == 2
    with Store.open_readonly(database) as store:
        assert [run.finished_at for run in store.runs()] == [None]
    give(folder, 4, "ok")
    assert merge_run(folder, database) == MergeReport(inserted=1, unchanged=2)
    assert merge_run(folder, database) == MergeReport(unchanged=3)
    with Store.open_readonly(database) as store:
        (run,) = store.runs()
    assert (run.run_id, run.started_at) == ("run-1", folder.run.started_at)
    assert (run.planned, run.counts) == (3, {"ok": 3})
    assert run.finished_at is not None


def test_records_of_another_schema_stay_where_they_are(results: Path, database: Path) -> None:
    folder = a_finished_run(results)
    (cell, *_) = folder.cells
    record = record_for(folder.run.job([cell], HERE), cell, schema_version=SCHEMA_VERSION - 1)
    folder.save(record)
    before = folder.file_of(cell).read_bytes()
    report = merge_run(folder, database)
    assert [file.path for file in report.damaged] == [folder.file_of(cell)]
    assert [run.cells for run in report.missing] == [(cell.id,)]
    assert folder.file_of(cell).read_bytes() == before


def test_a_run_that_may_not_hold_fake_rows_is_kept_from_a_scratch_database(
    results: Path, database: Path
) -> None:
    scratch = a_finished_run(results)
    options = replace(scratch.run.options, scratch=False)
    real = RunFolder(scratch.path, scratch.run.model_copy(update={"options": options}))
    report = merge_run(real, database)
    assert (report.inserted, len(report.refused)) == (0, 3)
    with Store.open_readonly(database) as store:
        assert store.described_runs()["run-1"].run.finished_at is not None


@pytest.mark.slow
def test_a_run_folder_and_a_folder_of_runs_are_both_taken(results: Path, database: Path) -> None:
    first, _ = a_finished_run(results), a_finished_run(results, "run-2")
    assert merge(first.path, database) == MergeReport(inserted=3)
    (results / "loose").mkdir()
    save_record(a_record(backend="fake", runtime="fake"), results / "loose")
    assert merge(results, database) == MergeReport(inserted=4, unchanged=3)
    with Store.open_readonly(database) as store:
        planned = {run.run_id: run.planned for run in store.runs()}
    assert planned.items() >= {"run-1": 3, "run-2": 3}.items()


@pytest.mark.parametrize("relative", [".", ".."])
def test_relative_paths_are_taken(
    results: Path, database: Path, relative: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(a_finished_run(results).path)
    assert merge(Path(relative), database) == MergeReport(inserted=3)


def test_bare_records_are_taken_one_by_one(results: Path, database: Path) -> None:
    path = give(a_finished_run(results), 2, "timeout")
    assert merge(path, database) == MergeReport(inserted=1)
    assert merge(path.parent, database) == MergeReport(inserted=2, unchanged=1)
    assert verdicts(database) == ["ok", "ok", "timeout"]


def test_a_path_that_is_not_there_is_named_before_anything_is_merged(
    results: Path, database: Path
) -> None:
    folder = a_finished_run(results)
    for nowhere in ("nowhere", "nowhere.zip"):
        with pytest.raises(UsageError, match=rf"{nowhere}: no such file or folder"):
            merge_paths([folder.path, results / nowhere], database, scratch=True)
    assert not database.exists()


def _cut(path: Path) -> None:
    path.write_bytes(b"PAR1 and no more")


def _without_row(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 0), path)


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize("damage", [_cut, _without_row])
def test_a_damaged_record_leaves_its_cell_lost_until_it_is_measured_again(
    results: Path, database: Path, damage: Callable[[Path], None]
) -> None:
    folder = a_finished_run(results)
    damage(give(folder, 4, "ok"))
    report = merge(results, database)
    assert report.inserted == 3
    (damaged,) = report.damaged
    assert damaged.path.name.endswith(".parquet.damaged")
    assert damaged.reason.endswith("it was set aside")
    assert verdicts(database) == ["lost", "ok", "ok"]
    assert merge(results, database) == MergeReport(unchanged=3)
    give(folder, 4, "ok")
    assert merge(results, database) == MergeReport(replaced=1, unchanged=2)
    _cut(give(folder, 4, "ok"))
    report = merge(results, database)
    assert (report.unchanged, len(report.damaged)) == (3, 1)
    assert verdicts(database) == ["ok", "ok", "ok"], "damage takes no measurement away"


def test_a_damaged_record_is_reported_at_the_end_of_a_run(results: Path, database: Path) -> None:
    folder = a_finished_run(results)
    _cut(give(folder, 1, "ok"))
    report = merge_run(folder, database)
    assert (report.inserted, len(report.damaged)) == (3, 1)
    with pytest.raises(StoreError, match="1 damaged"):
        report.require_complete()


def test_what_cannot_be_renamed_is_left_where_it_is(results: Path, database: Path) -> None:
    path = give(a_finished_run(results), 2, "ok")
    path.write_bytes(b"PAR1")
    path.with_name(f"{path.name}.damaged").mkdir()
    report = merge(results, database)
    assert (report.inserted, [file.path for file in report.damaged]) == (2, [path])
    assert path.read_bytes() == b"PAR1"


def test_a_damaged_run_file_costs_no_record(results: Path, database: Path) -> None:
    for run_id in ("run-1", "run-2"):
        a_finished_run(results, run_id)
    (results / "run-1/run.json").write_text("{")
    report = merge(results, database)
    assert report.inserted == 6
    assert [damaged.path.parent.name for damaged in report.damaged] == ["run-1"]


def test_a_link_in_a_folder_is_not_followed_and_one_that_is_named_is(
    tmp_path: Path, database: Path
) -> None:
    mine, folder = tmp_path / "mine", tmp_path / "strange"
    for path in (mine, folder):
        path.mkdir()
    link = folder / "link.parquet"
    link.symlink_to(save_record(a_record(), mine))
    (damaged,) = merge(folder, database).damaged
    assert (damaged.path, damaged.reason) == (link, "is a symbolic link, not a plain file")
    assert merge(link, database) == MergeReport(inserted=1)


def test_what_is_about_to_be_dropped_is_not_merged(results: Path, database: Path) -> None:
    a_finished_run(results).path.rename(results / ".run-1.dropped")
    assert merge(results, database) == MergeReport()


@pytest.mark.slow
def test_a_run_folder_from_elsewhere_falsifies_nothing_and_completes_a_run(
    tmp_path: Path, database: Path
) -> None:
    mine = a_run_folder(tmp_path / "results")
    give(mine, 1, "ok")
    give(mine, 2, "lost")
    merge_run(mine, database)
    theirs = a_run_folder(tmp_path / "theirs")
    for size in (1, 2, 4):
        give(theirs, size, "ok")
    run = theirs.run.model_copy(update={"command": "another", "seed": 99})
    (theirs.path / "run.json").write_text(run.model_dump_json())
    report = merge_paths([theirs.path], database, scratch=True)
    assert (report.inserted, report.replaced) == (1, 1)
    assert report.contradicted == (f"run-1/{mine.cells[0].id}",)
    with Store.open_readonly(database) as store:
        stored = store.described_runs()["run-1"].run
    assert (stored.command, stored.seed) == (mine.run.command, mine.run.seed)
    assert stored.finished_at is not None


DATABASE = Path("lab.duckdb")
DAMAGED = (Damaged(Path("a.parquet"), "truncated"),)
MERGED = MergeReport(3, 2, 1, DAMAGED, ("run/cell",), hosts=(("vm", 1), ("lab\x1b[1m", 4)))


def test_a_merge_names_hosts_database_and_the_next_step(screen: Screen) -> None:
    assert screen.lines(print_merged, MERGED, DATABASE) == [
        "3 inserted, 2 replaced, 1 unchanged",
        "4 records from lab\\u001b[1m, 1 record from vm into lab.duckdb",
        "next:",
        "  orchestrator query latest_results --database lab.duckdb",
    ]
    many = replace(MERGED, hosts=tuple((f"host-{n}", 1) for n in range(7)))
    assert "host-4 and 2 more hosts into" in screen.lines(print_merged, many, DATABASE)[1]


def test_a_merge_that_changed_nothing_says_so(screen: Screen) -> None:
    assert screen.lines(print_merged, MergeReport(unchanged=4), DATABASE) == [
        "0 inserted, 0 replaced, 4 unchanged",
        "database: lab.duckdb had all of them",
    ]
    assert screen.lines(print_merged, MergeReport(damaged=DAMAGED), DATABASE) == [
        "0 inserted, 0 replaced, 0 unchanged: nothing was merged into lab.duckdb"
    ]


def test_in_json_all_of_it_is_there(screen: Screen) -> None:
    assert screen.data(print_merged, MERGED, DATABASE) == {
        "inserted": 3,
        "replaced": 2,
        "unchanged": 1,
        "damaged": [{"file": "a.parquet", "reason": "truncated"}],
        "refused": ["run/cell"],
        "contradicted": [],
        "hosts": {"lab\x1b[1m": 4, "vm": 1},
        "database": "lab.duckdb",
    }


def test_hosts_of_several_merges_are_counted_together() -> None:
    total = MergeReport(1, hosts=(("vm", 1),)) + MergeReport(2, hosts=(("vm", 2),))
    assert (total.inserted, sum(count for _, count in total.hosts)) == (3, 3)
