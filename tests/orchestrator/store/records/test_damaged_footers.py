"""Whatever bit of a file's footer is flipped: it is left out with a reason, or taken as it was."""

import random
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store import MergeReport, Store
from orchestrator.store.records.validate import LONGEST, Bystander
from runner.contract.record import arrow_schema, save_record, to_table
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


@pytest.mark.parametrize("seed", [1, 2])
def test_no_flipped_bit_stops_the_merge(database: Path, results: Path, seed: int) -> None:
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
    assert all("\n" not in reason and len(reason) <= LONGEST + 1 for reason in reasons.values())
    assert scalar(database, "SELECT min(status) FROM benchmark_results") == "lost"


@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_of_many_alike_does_not_condemn_the_others(
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


def test_a_name_that_is_no_text_is_a_reason(database: Path, results: Path, save: Save) -> None:
    save(a_record(batch_size=1))
    path = save(a_record(batch_size=2))
    content = path.read_bytes()
    path.write_bytes(flipped(content, first_in_footer(content, b"latency_median_s")))
    report = merge(database, results)
    assert (report.inserted, [file.path for file in report.damaged]) == (1, [path])


def test_what_duckdb_alone_cannot_read_is_left_out(
    database: Path, results: Path, save: Save
) -> None:
    save(a_record(batch_size=1))
    path = save(a_record(batch_size=2))
    table = pq.read_table(path).append_column("other", pa.array(["{cut"]))
    pq.write_table(table.append_column("colour", pa.array(["red"])), path)
    report = merge(database, results)
    assert (report.inserted, [file.path for file in report.damaged]) == (1, [path])
    assert report.damaged[0].reason.startswith("DuckDB cannot read it: Conversion Error: Malformed")


@pytest.mark.slow
def test_a_file_that_ends_its_reader_ends_nothing_else(
    database: Path, results: Path, save: Save
) -> None:
    content = save(a_record(batch_size=1)).read_bytes()
    chunk = content.index(b"run_id", first_in_footer(content, b"run_id") + 1)
    flips = [results / f"{number}.parquet" for number in range(chunk, chunk + 30)]
    ended = 0
    with Bystander() as own:
        for at, path in enumerate(flips, start=chunk):
            path.write_bytes(flipped(content, at, bit=0))
            try:
                own.rows(f"SELECT run_id FROM '{path}'")
            except duckdb.Error as error:
                ended += isinstance(error, duckdb.InternalException)
            assert own.rows("SELECT 1") == [(1,)]
    assert ended
    report = merge(database, results)
    assert (report.inserted, bool(report.damaged)) == (1, True)


@pytest.mark.parametrize("moment", [2**61, -(2**61)])
def test_a_time_that_no_calendar_has_is_left_out(
    database: Path, results: Path, save: Save, moment: int
) -> None:
    path = save(a_record(batch_size=1))
    table = pq.read_table(path)
    at = table.column_names.index("recorded_at")
    far = pa.array([moment]).cast(table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), far), path)
    (damaged,) = merge(database, results).damaged
    assert "date value out of range" in damaged.reason


def test_columns_that_readers_name_differently_are_a_reason(
    database: Path, results: Path, save: Save
) -> None:
    path = save(a_record())
    table = pq.read_table(path)
    pq.write_table(table.append_column("STATUS", table["status"]), path)
    (damaged,) = merge(database, results).damaged
    assert damaged.reason.startswith("pyarrow and DuckDB differ in what its columns are: ['STATUS'")


def test_large_files_are_looked_at_where_they_are(
    database: Path, results: Path, save: Save
) -> None:
    durations = np.random.default_rng(7).integers(1, 2**60, 150_000).tolist()
    paths = [save(a_record(batch_size=size)) for size in (1, 2, 4, 8)]
    at = arrow_schema().names.index("durations_ns")
    for path in paths:
        table = pq.read_table(path)
        values = pa.array([durations], table.schema.field(at).type)
        pq.write_table(table.set_column(at, table.schema.field(at), values), path)
    paths[1].write_bytes(paths[1].read_bytes()[:-100])
    middle = paths[3].stat().st_size // 2
    content = paths[3].read_bytes()
    paths[3].write_bytes(content[:middle] + bytes(5000) + content[middle + 5000 :])
    report = merge(database, results)
    assert report.inserted == 4 - len(report.damaged)
    assert [file.path for file in report.damaged] == [paths[1], paths[3]]
