"""What the database has already is told by three columns, and is not read again."""

import random
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.merge.merge import known_files
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from runner.contract.record.files import save_record, to_table
from runner.contract.record.record import SCHEMA_VERSION
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.databases import content
from tests.support.records import RECORDED_AT, a_failure, a_record

LATER = RECORDED_AT + timedelta(minutes=1)


@pytest.fixture
def merged(database: Path, results: Path, save: Save) -> Path:
    save(a_record(batch_size=1), a_record(batch_size=2))
    with Store.open(database) as store:
        assert store.merge([results]) == MergeReport(inserted=2)
    return database


def known(database: Path, *files: Path) -> dict[str, int]:
    with duckdb.connect(database) as connection:
        return {path.name: count for path, count in known_files(connection, files).items()}


def test_files_of_which_each_record_is_there_are_known(merged: Path, tmp_path: Path) -> None:
    tables = {
        "same": [a_record(batch_size=2), a_record(batch_size=1)],
        "newer": [a_record(batch_size=2, recorded_at=LATER)],
        "older": [a_record(batch_size=2, recorded_at=RECORDED_AT - timedelta(minutes=1))],
        "more": [a_record(batch_size=1), a_record(batch_size=4)],
        "other": [a_record(batch_size=1, run_id="other")],
        "none": [],
    }
    files = [tmp_path / name for name in tables]
    for path in files:
        pq.write_table(to_table(tables[path.name]), path)
    assert known(merged, *files) == {"same": 2}


def test_a_damaged_file_is_not_known_and_reported(merged: Path, results: Path) -> None:
    cut = results / "cut.parquet"
    cut.write_bytes(b"PAR1")
    assert cut.name not in known(merged, *results.glob("**/*.parquet"))
    with Store.open(merged) as store:
        report = store.merge([results])
    assert (report.unchanged, [file.path for file in report.damaged]) == (2, [cut])


RUN = Run(
    run_id="20261121-120000-abcd",
    started_at=RECORDED_AT - timedelta(minutes=1),
    finished_at=RECORDED_AT + timedelta(minutes=1),
    matrix="version: 1\n",
    launchers=("docker", "process"),
    seed=7,
    planned=3,
    orchestrator_version="0.1.0",
)


def merge(store: Store, *paths: Path, run: Run | None = None) -> MergeReport:
    return store.merge(paths, *filter(None, [run]))


def test_records_become_rows(store: Store, results: Path, save: Save) -> None:
    save(a_record(batch_size=1), a_record(batch_size=8), a_failure("lost", "gone", batch_size=64))
    assert merge(store, results) == MergeReport(inserted=3)
    found = content(store._connection)
    assert {table: len(rows) for table, rows in found.items()} == {
        "benchmark_runs": 1,
        "benchmark_results": 3,
        "hardware_info": 1,
        "environments": 1,
        "models": 1,
        "artefacts": 0,
        "raw_benchmark_data": 2,
        "accepted_changes": 0,
        "quarantine": 0,
        "replay_jobs": 3,
    }
    assert scalar(store, "SELECT min(result_id) FROM benchmark_results") == (
        "20261121-120000-abcd/cpu-bert-tiny-fp32-b1-s128-inference"
    )


def test_merging_twice_changes_nothing(store: Store, results: Path, save: Save) -> None:
    save(a_record(batch_size=1), a_record(batch_size=8))
    merge(store, results, run=RUN)
    before = content(store._connection)
    assert merge(store, results, run=RUN) == MergeReport(unchanged=2)
    assert content(store._connection) == before


def test_a_newer_record_replaces_the_verdict_and_its_durations_and_an_older_one_never_does(
    store: Store, results: Path, save: Save
) -> None:
    merge(store, save(a_record()))
    older = save(a_failure("lost", "gone", recorded_at=RECORDED_AT - timedelta(microseconds=1)))
    assert merge(store, older) == MergeReport(unchanged=1)
    assert scalar(store, "SELECT status FROM benchmark_results") == "ok"
    newer = save(a_failure("timeout", "hung", recorded_at=RECORDED_AT + timedelta(seconds=1)))
    assert merge(store, newer) == MergeReport(replaced=1)
    assert scalar(store, "SELECT status FROM benchmark_results") == "timeout"
    assert scalar(store, "SELECT count(*) FROM raw_benchmark_data") == 0
    assert scalar(store, "SELECT count(*) FROM replay_jobs") == 1


NEXT_DAY = RECORDED_AT + timedelta(days=1)


@pytest.mark.slow
def test_records_merged_one_by_one_are_stored(store: Store, save: Save) -> None:
    parts = {"first_token": [1, 2], "output_token": [3, 4, 5]}
    for record in (
        a_record(run_id="newest", recorded_at=NEXT_DAY, cpu_flags=["amx"]),
        a_record(run_id="jobless", job=None),
        a_record(run_id="in parts", part_durations_ns=parts),
        a_record(run_id="1"),
        a_record(run_id="2"),
        a_record(run_id="inferred", batch_size=1),
        a_record(run_id="inferred", batch_size=2, launcher="docker"),
        a_record(run_id="older", cpu_flags=["avx2"]),
    ):
        merge(store, save(record))
    answers = {
        "count(*) FROM replay_jobs WHERE result_id LIKE 'jobless/%'": 0,
        "part_durations_ns['output_token'] FROM raw_benchmark_data"
        " WHERE result_id LIKE 'in parts/%'": [3, 4, 5],
        "count(*) FROM benchmark_results": 8,
        "count(*) FROM benchmark_runs": 7,
        "(launchers, described) FROM benchmark_runs WHERE run_id = 'inferred'": (
            ["docker", "process"],
            False,
        ),
        "list(cpu_flags) FROM hardware_info": [["amx"]],
    }
    assert {value: scalar(store, f"SELECT {value}") for value in answers} == answers


def test_of_duplicates_in_one_merge_the_newest_wins(
    store: Store, results: Path, save: Save
) -> None:
    for minutes in (1, 3, 2):
        moment = RECORDED_AT + timedelta(minutes=minutes)
        save(a_record(throughput=float(minutes), recorded_at=moment))
    assert merge(store, results) == MergeReport(inserted=1, unchanged=2)
    assert scalar(store, "SELECT throughput FROM benchmark_results") == 3.0


def test_a_described_run_keeps_what_the_orchestrator_said(
    store: Store, results: Path, save: Save
) -> None:
    save(a_record())
    merge(store, results, run=RUN)
    merge(store, results)
    (summary,) = store.runs()
    assert (summary.planned, summary.started_at) == (3, RUN.started_at)
    assert scalar(store, "SELECT launchers FROM benchmark_runs") == ["docker", "process"]
    assert scalar(store, "SELECT matrix FROM benchmark_runs") == "version: 1\n"


def test_a_run_is_on_record_before_its_first_cell_ends(store: Store) -> None:
    merge(store, run=RUN.model_copy(update={"finished_at": None}))
    merge(store, run=RUN)
    assert scalar(store, "SELECT finished_at IS NOT NULL FROM benchmark_runs") is True


def test_unfinished_files_are_not_read_and_a_file_named_twice_counts_once(
    store: Store, results: Path, save: Save
) -> None:
    path = save(a_record())
    (results / ".half.parquet").write_bytes(b"PAR1")
    (results / "half.parquet.tmp").write_bytes(b"PAR1")
    (results / "log.txt").write_text("text")
    assert merge(store, path, results, results) == MergeReport(inserted=1)


def test_names_that_look_like_patterns_are_names(store: Store, tmp_path: Path) -> None:
    for name in ("run_id=7", "a[bc]", "ab", "a*", "a?"):
        (tmp_path / name).mkdir()
        save_record(a_record(run_id=name), tmp_path / name)
    assert merge(store, tmp_path / "a[bc]", tmp_path / "a*").inserted == 2
    assert merge(store, tmp_path) == MergeReport(inserted=3, unchanged=2)
    assert scalar(store, "SELECT count(*) FROM benchmark_runs WHERE run_id = 'run_id=7'") == 1


def test_a_path_that_does_not_exist_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere: no such file or folder"):
        merge(store, tmp_path / "nowhere")


def test_fake_rows_stay_out_of_a_real_database(store: Store, results: Path, save: Save) -> None:
    save(a_record(), a_record(run_id="fakes", backend="fake", runtime="fake"))
    report = merge(store, results)
    assert (report.inserted, report.refused) == (
        1,
        ("fakes/fake-bert-tiny-fp32-b1-s128-inference",),
    )
    with pytest.raises(StoreError, match=r"refused 1 row .*fakes/fake-bert-tiny-fp32-b1"):
        report.require_complete()
    assert scalar(store, "SELECT count(*) FROM benchmark_runs") == 1


def test_reports_add_up(store: Store, save: Save) -> None:
    path = save(a_record())
    damaged = (Damaged(path, "cut"),)
    total = merge(store, path) + merge(store, path) + MergeReport(damaged=damaged)
    assert total == MergeReport(inserted=1, unchanged=1, damaged=damaged)


def _sound(path: Path) -> pa.Table:
    return pq.read_table(path)


def _with(path: Path, name: str, values: pa.Array) -> pa.Table:
    table = pq.read_table(path)
    others = table.select([column for column in table.column_names if column != name])
    return others.append_column(name, values)


DAMAGES: dict[str, tuple[Callable[[Path], pa.Table], str]] = {
    "another table": (lambda path: pa.table({"id": [1]}), "no column cell_id"),
    "a missing column": (
        lambda path: _sound(path).drop_columns(["status"]),
        "lacks the columns .*status",
    ),
    "another type": (
        lambda path: _with(path, "batch_size", pa.array(["eight"])),
        "column batch_size holds string, not int64",
    ),
    "an unknown status": (lambda path: _with(path, "status", pa.array(["fine"])), "status: 'fine'"),
    "no cell": (
        lambda path: _with(path, "cell_id", pa.array([None], pa.string())),
        "cell_id: None",
    ),
    "negative time": (
        lambda path: _with(path, "durations_ns", pa.array([[5, -1]], pa.list_(pa.int64()))),
        "iterations are not the durations",
    ),
    "negative time of a part": (
        lambda path: _with(
            path,
            "part_durations_ns",
            pa.array([[("first_token", [5, -1])]], pa.map_(pa.string(), pa.list_(pa.int64()))),
        ),
        "impossible raw duration: the shortest is -1 ns",
    ),
}


def test_each_foreign_file_is_left_out_with_its_reason(
    store: Store, results: Path, save: Save
) -> None:
    save(a_record(batch_size=1))
    expected = {}
    for size, (change, reason) in enumerate(DAMAGES.values(), start=2):
        path = save(a_record(batch_size=size))
        pq.write_table(change(path), path)
        expected[path] = reason
    report = merge(store, results)
    reasons = {file.path: file.reason for file in report.damaged}
    assert (report.inserted, reasons.keys()) == (1, expected.keys())
    assert [path for path in expected if not re.search(expected[path], reasons[path])] == []
    with pytest.raises(StoreError, match=f"{len(expected)} damaged"):
        report.require_complete()


@pytest.mark.parametrize("schema", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_records_of_another_schema_are_refused(
    store: Store, results: Path, save: Save, schema: int
) -> None:
    path = save(a_record(schema_version=schema))
    (refused,) = merge(store, results).damaged
    assert refused.path == path
    assert refused.other_schema
    assert f"schema {schema}, and this AccelMatrix takes those of" in refused.reason
    assert refused.reason.endswith("measure again")


def test_columns_that_an_older_runner_lacked_are_null_or_what_they_were(
    store: Store, results: Path, save: Save
) -> None:
    path = save(a_record())
    pq.write_table(_sound(path).drop_columns(["purpose", "noise_score", "environment_id"]), path)
    assert merge(store, results) == MergeReport(inserted=1)
    sql = "SELECT (purpose, noise_score) FROM benchmark_results"
    assert scalar(store, sql) == ("measure", None)


def test_a_truncated_file_is_left_out_wherever_it_was_cut(
    store: Store, results: Path, save: Save
) -> None:
    whole = save(a_record())
    size = whole.stat().st_size
    cuts = [0, 1, 3, 4, 8, 12, size // 4, size // 2, size - 400, size - 8, size - 4, size - 1]
    for cut in cuts:
        (results / f"cut-at-{cut}.parquet").write_bytes(whole.read_bytes()[:cut])
    report = merge(store, results)
    assert report.inserted == 1
    assert len(report.damaged) == len(cuts)
    assert all("truncated or not a Parquet file" in file.reason for file in report.damaged)
    assert len(list(results.glob("cut-at-*"))) == len(cuts)


def test_damage_inside_the_data_is_found(store: Store, results: Path, save: Save) -> None:
    path = save(a_record(batch_size=1), a_record(batch_size=2))
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * (len(content) // 3) + content[4 + len(content) // 3 :])
    report = merge(store, results)
    assert (report.inserted, len(report.damaged)) == (1, 1)


def test_garbage_and_a_link_to_nothing_are_reported(store: Store, results: Path) -> None:
    for number, garbage in enumerate([b"", b"status: ok\n", b"\0" * 100_000, b"PAR1PAR1"]):
        (results / f"{number}.parquet").write_bytes(garbage)
    (results / "link.parquet").symlink_to(results / "gone.parquet")
    report = merge(store, results)
    assert (report.inserted, len(report.damaged)) == (0, 5)


def test_a_mended_file_is_merged_the_next_time(store: Store, results: Path, save: Save) -> None:
    path = save(a_record())
    shutil.copy(path, results / "copy")
    path.write_bytes(path.read_bytes()[:-1])
    assert len(merge(store, results).damaged) == 1
    shutil.copy(results / "copy", path)
    assert merge(store, results) == MergeReport(inserted=1)


def test_a_file_with_many_records_is_merged_whole_or_not_at_all(
    store: Store, results: Path
) -> None:
    records = [a_record(batch_size=size) for size in (1, 2, 4)]
    pq.write_table(to_table(records), results / "compacted.parquet")
    broken = to_table([a_record(batch_size=size) for size in (8, 16)])
    status = broken.column_names.index("status")
    broken = broken.set_column(status, "status", pa.array(["ok", "fine"]))
    pq.write_table(broken, results / "broken.parquet")
    report = merge(store, results)
    assert (report.inserted, len(report.damaged)) == (3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [[0, 1], pytest.param([1, 0], marks=pytest.mark.slow)])
def test_in_whatever_order_a_replaced_record_comes_its_machine_is_known(
    store: Store, tmp_path: Path, save: Save, parts: list[int]
) -> None:
    later = RECORDED_AT + timedelta(hours=1)
    files = [
        save(a_record(device_name="machine-1")),
        save(a_failure("lost", "gone", recorded_at=later, hardware_id=None)),
    ]
    for part in parts:
        merge(store, files[part])
    with Store.open(tmp_path / "at-once.duckdb") as at_once:
        merge(at_once, *files)
        assert content(store._connection) == content(at_once._connection)
    assert scalar(store, "SELECT device_name FROM hardware_info") == "machine-1"


@pytest.mark.slow
def test_damage_in_a_large_file_that_shows_as_it_is_written_is_named(
    store: Store, results: Path
) -> None:
    noise = random.Random(7)
    records = [
        a_record(run_id=f"run-{number}", job=noise.randbytes(2_000_000).hex()) for number in (1, 2)
    ]
    for record in records:
        pq.write_table(to_table([record]), results / f"{record.run_id}.parquet")
    damaged = results / "run-2.parquet"
    content = bytearray(damaged.read_bytes())
    content[500_000:1_000_000] = bytes(500_000)
    damaged.write_bytes(content)
    report = merge(store, results)
    assert (report.inserted, [file.path for file in report.damaged]) == (1, [damaged])
    assert scalar(store, "SELECT run_id FROM benchmark_results") == "run-1"
