"""Merges of damaged and of many files, and what is told of them."""

import os
import random
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.merge.staging import FILES_AT_ONCE
from orchestrator.store.query.ask import query
from orchestrator.store.records.validate import Damaged
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from runner.contract.record.files import to_table
from runner.contract.record.record import Record
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import (
    AS_NOBODY,
    FULL_DISK,
    after,
    content,
    done,
    holding,
    killed,
    refused,
    script,
    started,
    time_of,
)
from tests.support.records import RECORDED_AT, a_failure, a_record

CELLS = 1_000
MERGE = script("""
with Store.open(paths[0], wait_s=60) as store:
    for path in paths[1:]:
        report = store.merge([path])
        print(report.inserted, report.replaced, report.unchanged, flush=True)
""")
MERGE_ON_A_FULL_DISK = refused(
    f"with Store.open(paths[0]) as store:\n    {FULL_DISK}\n    store.merge([paths[1]])", first=""
)
CREATE_ON_A_FULL_DISK = refused("Store.open(paths[0])")
ASK_AND_WRITE = refused(
    f"""
Store.open(paths[1]).close()
query(paths[1], "FROM benchmark_performance")
{AS_NOBODY}
print(query(paths[0], "SELECT count(*) AS n FROM benchmark_results").to_pylist())
Store.open(paths[0])
""",
    first="",
)


MERGE_AS_NOBODY = script(
    "print(merge_paths([paths[1]], paths[0], scratch=False).inserted)",
    "from orchestrator.commands.exchange.merge import merge_paths",
    AS_NOBODY,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def first(files: Path) -> Path:
    records = [a_failure("lost", "gone", batch_size=size + 1) for size in range(CELLS)]
    return _saved(files / "first.parquet", records)


@pytest.fixture(scope="module")
def second(files: Path) -> Path:
    later = RECORDED_AT + timedelta(hours=1)
    records = [a_record(batch_size=size + 1, recorded_at=later) for size in range(CELLS)]
    return _saved(files / "second.parquet", records)


@pytest.mark.slow
def test_a_killed_merge_is_all_or_nothing_and_can_be_repeated(
    database: Path, first: Path, second: Path, tmp_path: Path
) -> None:
    usual_s = time_of(MERGE, tmp_path / "other.duckdb", first, second)
    chance = random.Random(os.urandom(8))
    for _ in range(3):
        killed(MERGE, database, first, second, when=after(chance.uniform(0, usual_s)))
        if database.exists():
            _assert_whole(database)
    with Store.open(database) as store:
        store.merge([first, second])
    _assert_whole(database)
    assert scalar(database, "SELECT count(*) FROM benchmark_performance") == CELLS
    assert content(database) == content(tmp_path / "other.duckdb")


@pytest.mark.slow
def test_two_writers_take_turns(database: Path, first: Path, second: Path) -> None:
    with started(MERGE, database, first) as one, started(MERGE, database, second) as other:
        answers = [process.communicate()[0].split() for process in (one, other)]
    assert {answer[0] for answer in answers} <= {str(CELLS), "0"}
    assert scalar(database, "SELECT count(*) FROM benchmark_performance") == CELLS
    _assert_whole(database)


@pytest.mark.slow
def test_a_reader_during_a_merge_waits_and_sees_it_whole(
    database: Path, first: Path, second: Path
) -> None:
    with Store.open(database) as store:
        store.merge([first])
    sql = "SELECT status, count(*) AS cells FROM benchmark_results GROUP BY status"
    with started(MERGE, database, second) as merging:
        seen: list[dict[str, object]] = []
        while merging.poll() is None or not seen:
            seen += query(database, sql, wait_s=60).to_pylist()
    assert {row["cells"] for row in seen} == {CELLS}
    assert query(database, sql).to_pylist() == [{"status": "ok", "cells": CELLS}]


@pytest.mark.slow
def test_a_reader_does_not_wait_for_ever(database: Path, first: Path) -> None:
    with Store.open(database) as store:
        store.merge([first])
    with holding(database) as holder:
        with pytest.raises(
            StoreError, match=rf"in use by .*PID {holder.pid}.* after waiting 0.1"
        ) as caught:
            query(database, "SELECT 1", wait_s=0.1)
        holder.communicate()
    assert "wait for it to finish" in str(caught.value.hint)
    assert query(database, "SELECT 1 FROM benchmark_results").num_rows == CELLS


@pytest.mark.slow
def test_record_files_that_may_only_be_read_are_merged(open_folder: Path, first: Path) -> None:
    records, place = open_folder / "records", open_folder / "place"
    for folder in (records, place):
        folder.mkdir()
    place.chmod(0o777)
    (records / "first.parquet").write_bytes(first.read_bytes())
    (records / "first.parquet").chmod(0o444)
    records.chmod(0o555)
    output = done(MERGE_AS_NOBODY, place / "benchmarks.duckdb", records)
    records.chmod(0o755)
    assert output == f"{CELLS}\n"


@pytest.mark.slow
def test_a_full_disk_loses_nothing(database: Path, first: Path, second: Path) -> None:
    with Store.open(database) as store:
        store.merge([first])
    before = content(database)
    output = done(MERGE_ON_A_FULL_DISK, database, second)
    assert "the merge failed, and nothing was lost" in output
    assert "free some space on its disk" in output
    assert content(database) == before
    with Store.open(database) as store:
        assert store.merge([second]) == MergeReport(replaced=CELLS)


@pytest.mark.slow
def test_a_database_that_could_not_be_created_leaves_nothing(tmp_path: Path) -> None:
    database = tmp_path / "new" / "benchmarks.duckdb"
    assert "cannot be created" in done(CREATE_ON_A_FULL_DISK, database)
    assert [path.name for path in database.parent.iterdir()] == ["benchmarks.duckdb.lock"]


@pytest.mark.slow
def test_a_read_only_database_can_be_asked_but_not_written(
    first: Path, open_folder: Path, tmp_path: Path
) -> None:
    database = open_folder / "benchmarks.duckdb"
    with Store.open(database) as store:
        store.merge([first])
    Path(f"{database}.lock").unlink()
    database.chmod(0o444)
    open_folder.chmod(0o555)
    output = done(ASK_AND_WRITE, database, tmp_path / "other.duckdb")
    open_folder.chmod(0o755)
    assert f"'n': {CELLS}" in output
    assert "cannot be written: Permission denied | see its owner and mode" in output


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        Store.open(tmp_path / "file" / "benchmarks.duckdb")


def _saved(path: Path, records: list[Record]) -> Path:
    pq.write_table(to_table(records), path)
    return path


def _assert_whole(database: Path) -> None:
    """None or all of the cells, all of one merge, and raw durations exactly for those measured."""
    with Store.open_readonly(database) as store:
        counts = [count for summary in store.runs() for count in summary.counts.items()]
    assert counts in ([], [("lost", CELLS)], [("ok", CELLS)])
    measured = CELLS if counts == [("ok", CELLS)] else 0
    joined = "SELECT count(*) FROM raw_benchmark_data JOIN benchmark_results USING (result_id)"
    assert scalar(database, joined) == measured
    assert scalar(database, "SELECT count(*) FROM raw_benchmark_data") == measured


@pytest.mark.slow
def test_more_files_than_are_read_at_once(database: Path, results: Path) -> None:
    count = FILES_AT_ONCE + 5
    table = to_table([a_failure("lost", "gone", batch_size=size + 1) for size in range(count)])
    for row in range(count):
        pq.write_table(table.slice(row, 1), results / f"{row}.parquet")
    (results / "cut.parquet").write_bytes(b"PAR1")
    with Store.open(database) as store:
        report = store.merge([results])
        assert len(store.verdicts("20261121-120000-abcd")) == count
        assert (report.inserted, len(report.damaged)) == (count, 1)
        assert store.merge([results / "0.parquet"]) == MergeReport(unchanged=1)


SEVERAL = tuple(Damaged(Path(f"{number}.parquet"), "cut") for number in range(7))


@pytest.mark.parametrize(
    ("report", "told", "hinted"),
    [
        (
            MergeReport(3, damaged=SEVERAL[:1]),
            "1 damaged file was left out: 0.parquet: cut",
            "; all others were merged",
        ),
        (
            MergeReport(3, refused=("run/cell",)),
            "refused 1 row that no device made: run/cell",
            "; all others were merged",
        ),
        (
            MergeReport(unchanged=1, refused=("a", "b"), damaged=SEVERAL),
            "refused 2 rows that no device made: a, b; 7 damaged files were left out:"
            " 0.parquet: cut, 1.parquet: cut, 2.parquet: cut, 3.parquet: cut, 4.parquet: cut"
            " and 2 more",
            "--resume RUN_ID`; all others were merged",
        ),
        (
            MergeReport(3, refused=tuple(f"run/cell{number}" for number in range(8))),
            "refused 8 rows that no device made: run/cell0, run/cell1, run/cell2, run/cell3,"
            " run/cell4 and 3 more",
            "; all others were merged",
        ),
        (
            MergeReport(damaged=SEVERAL[:2]),
            "2 damaged files were left out: 0.parquet: cut, 1.parquet: cut",
            "; nothing was merged",
        ),
    ],
    ids=["damaged", "refused", "both", "many", "nothing-else"],
)
def test_all_that_was_left_out_is_told(report: MergeReport, told: str, hinted: str) -> None:
    with pytest.raises(StoreError) as raised:
        report.require_complete()
    assert str(raised.value) == told
    assert str(raised.value.hint).endswith(hinted)


def test_a_merge_of_everything_is_complete() -> None:
    MergeReport(1, 2, 3, quarantined=4).require_complete()
