"""Record files that are damaged, or whose ids are paths."""

import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.find import ID_COLUMNS, id_fault, is_path
from orchestrator.store.records.validate import REASON_LETTERS, read_records
from orchestrator.store.store import Store
from orchestrator.system.parquet import read_table
from runner.contract.errors import DamagedFile
from runner.contract.record.files import save_record, to_table, write_records
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.records import a_failure, a_record

FLIPS = 40
TAIL = 8
"""A Parquet file ends with the footer, the footer's length in four bytes, and four letters."""


def merge(database: Path, results: Path) -> MergeReport:
    with Store.open(database) as store:
        return store.merge([results])


def flipped(content: bytes, at: int, bit: int = 7) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1 << bit
    return bytes(changed)


def footer_of(content: bytes) -> range:
    length = int.from_bytes(content[-TAIL:-4], "little")
    return range(len(content) - TAIL - length, len(content))


def first_in_footer(content: bytes, word: bytes) -> int:
    return content.index(word, footer_of(content).start)


def test_a_flipped_bit_in_a_readable_page_is_found(
    database: Path, results: Path, save: Save
) -> None:
    path = save(a_record(device_name="card 4"))
    path.write_bytes(path.read_bytes().replace(b"card 4", b"card 5"))
    assert pq.read_table(path)["device_name"].to_pylist() == ["card 5"]
    report = merge(database, results)
    assert (report.inserted, [file.path for file in report.damaged]) == (0, [path])
    assert "CRC checksum verification failed" in report.damaged[0].reason


@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_with_a_flipped_bit_is_refused_or_says_the_same(results: Path, seed: int) -> None:
    path = save_record(a_record(), results)
    whole, content = read_records(path), path.read_bytes()
    chance = random.Random(seed)
    refused = 0
    for _ in range(FLIPS):
        at = chance.randrange(4, footer_of(content).start)
        path.write_bytes(flipped(content, at, chance.randrange(8)))
        try:
            assert read_records(path).equals(whole)
        except DamagedFile:
            refused += 1
    assert refused > FLIPS / 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_flipped_bit_of_a_footer_stops_the_merge(
    database: Path, results: Path, seed: int
) -> None:
    chance = random.Random(seed)
    sound = save_record(a_failure("lost", "gone"), results)
    content = sound.read_bytes()
    for number in range(FLIPS):
        at, bit = chance.choice(footer_of(content)), chance.randrange(8)
        (results / f"{number}.parquet").write_bytes(flipped(content, at, bit))
    report = merge(database, results)
    reasons = {file.path.name: file.reason for file in report.damaged}
    assert sound.name not in reasons
    assert len(reasons) == len(report.damaged) > FLIPS / 4
    assert report.inserted + report.replaced + report.unchanged == FLIPS + 1 - len(reasons)
    longest = REASON_LETTERS + 1
    assert all("\n" not in reason and len(reason) <= longest for reason in reasons.values())
    assert scalar(database, "SELECT min(status) FROM benchmark_results") == "lost"


@pytest.mark.representatives(1)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_of_many_files_with_the_same_columns_does_not_condemn_the_others(
    database: Path, results: Path, which: int
) -> None:
    paths = [results / f"{number}.parquet" for number in range(3)]
    for size, path in enumerate(paths, start=1):
        pq.write_table(to_table([a_record(batch_size=size)]), path)
    content = paths[which].read_bytes()
    at = first_in_footer(content, b"ARROW:schema") + 40
    paths[which].write_bytes(flipped(content, at))
    report = merge(database, results)
    assert (report.inserted, [file.path for file in report.damaged]) == (2, [paths[which]])


def no_text(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(flipped(content, first_in_footer(content, b"latency_median_s")))


def value_that_is_no_text(path: Path) -> None:
    table = read_table(path)
    at = table.column_names.index("model")
    words = pa.array([b"\xff\xfe"]).view(pa.string())
    pq.write_table(table.set_column(at, "model", words), path)


def with_columns(**values: object) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        table = read_table(path)
        for name, value in values.items():
            table = table.append_column(name, pa.array([value]))
        pq.write_table(table, path)

    return write


def at_moment(moment: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        table = read_table(path)
        at = table.column_names.index("recorded_at")
        far = pa.array([moment]).cast(table.schema.field(at).type)
        pq.write_table(table.set_column(at, table.schema.field(at), far), path)

    return write


WHAT_NO_RECORD_HOLDS = (
    (no_text, "truncated or not a Parquet file: "),
    (value_that_is_no_text, "Invalid UTF8"),
    (with_columns(filename="a", colour="b"), "columns that no record has: ['colour', 'filename']"),
    (with_columns(STATUS="ok"), "columns that no record has: ['STATUS']"),
    (with_columns(**{"model\0": "a"}), "columns that no record has: ['model\\x00']"),
    (with_columns(status="ok"), "several columns of the same name"),
    (at_moment(2**61), "date value out of range"),
    (at_moment(-(2**61)), "date value out of range"),
)


@pytest.mark.parametrize(
    "large", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_what_no_record_may_hold_is_left_out_with_the_reason(
    database: Path, results: Path, save: Save, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr("orchestrator.store.merge.staging.SMALL_FILE_BYTES", 0)
    save(a_record(batch_size=1))
    expected = {}
    for size, (damage, reason) in enumerate(WHAT_NO_RECORD_HOLDS, start=2):
        path = save(a_record(batch_size=size))
        damage(path)
        expected[path] = reason
    report = merge(database, results)
    reasons = {file.path: file.reason for file in report.damaged}
    assert (report.inserted, reasons.keys()) == (1, expected.keys())
    assert [path for path in expected if expected[path] not in reasons[path]] == []


@pytest.mark.slow
def test_large_files_are_read_where_they_are(database: Path, results: Path, save: Save) -> None:
    durations = np.random.default_rng(7).integers(1, 2**60, 150_000).tolist()
    paths = [save(a_record(batch_size=size)) for size in (1, 2, 4, 8)]
    for path in paths:
        table = read_table(path).drop_columns("warmup_durations_ns")
        values = pa.array([durations], pa.list_(pa.int64()))
        with path.open("wb") as file:
            write_records(table.append_column("warmup_durations_ns", values), file)
    paths[1].write_bytes(paths[1].read_bytes()[:-100])
    content = paths[3].read_bytes()
    paths[3].write_bytes(flipped(content, len(content) // 2))
    report = merge(database, results)
    assert report.inserted == 2
    assert {file.path for file in report.damaged} == {paths[1], paths[3]}
    assert (
        scalar(database, "SELECT max(len(warmup_durations_ns)) FROM raw_benchmark_data") == 150_000
    )


PATHS = ("", ".", "..", "/", "/tmp/x", "../../x", "a/../b", "a/./b", "a/..", "a//b", "a/")
IDS = ("20261121-120000-abcd", "odd/run \N{SNOWMAN}", "..a", "a..b", ".hidden", "a.b/c.d", "...")


@pytest.mark.parametrize("value", PATHS + IDS)
def test_both_ways_to_ask_agree(value: str) -> None:
    row = dict.fromkeys(ID_COLUMNS, "sound") | {"job_id": value}
    ((found,),) = duckdb.execute(
        f"SELECT {is_path('value')} FROM (SELECT ? AS value)", [value]
    ).fetchall()
    assert found is (value in PATHS)
    assert id_fault(row) == (f"job_id: {value!r} is a path, and no id" if found else None)


def test_what_is_unknown_is_no_path() -> None:
    assert id_fault({"run_id": None}) is None
    assert duckdb.execute(f"SELECT {is_path('NULL::VARCHAR')}").fetchall() == [(None,)]


def test_such_a_record_is_left_out(tmp_path: Path) -> None:
    table = pq.read_table(save_record(a_record(batch_size=2), tmp_path))
    for column in ID_COLUMNS:
        at = table.column_names.index(column)
        foreign = table.set_column(at, table.schema.field(at), pa.array(["../../x"]))
        pq.write_table(foreign, tmp_path / f"foreign-{column}.parquet")
        foreign = foreign.append_column("source", pa.array(["somebody"]))
        pq.write_table(foreign, tmp_path / f"foreign-{column}-of-others.parquet")
    with Store.open(tmp_path / "benchmarks.duckdb") as store:
        report = store.merge([tmp_path])
    assert report.inserted == 1
    assert {file.path.name: file.reason for file in report.damaged} == {
        f"foreign-{column}{whose}.parquet": f"{column}: '../../x' is a path, and no id"
        for column in ID_COLUMNS
        for whose in ("", "-of-others")
    }
