"""Small files that would take all memory are refused before they do; damage is never a bug."""

import random
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.errors import DamagedFile, RecordError
from runner.contract.record import UNREADABLE, open_parquet, read_record, read_table, to_table
from runner.contract.record.page_header import PageHeader, read_page_header
from tests.support.hostile_parquet import HOSTILE_FILES
from tests.support.records import a_record

MAP = pa.map_(pa.string(), pa.list_(pa.float64()))
REASONS = {
    "values that the footer admits": "100,000,000 values of a column in 1 row",
    "values that the footer denies": "100,000,000 values of a column in 1 row",
    "values behind a page that says all": "100,000,001 values of a column in 1 row",
    "nulls without end": "100,000,000 values of a column in 1 row",
    "a long text, repeated": "bytes uncompressed; at most",
    "a page of two gigabytes": "bytes uncompressed in a column; at most 1,073,741,824 are allowed",
    "lengths of a size of their own": "a page that is encoded as none of a record file",
    "rows that no page holds": r"holds \d{3},000,000,000 values",
    "wide values": "1,048,576 bytes in each value of wide; at most 64 are allowed",
    "a million columns": "Exceeded size limit",
    "folders of columns": "Exceeded size limit",
    "a footer without end": "holds 2,147,483,648 bytes of footer; at most 8,388,608 are allowed",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_small_file_that_would_take_all_memory_is_refused(name: str, tmp_path: Path) -> None:
    content = HOSTILE_FILES[name](to_table([a_record()]))
    with pytest.raises((DamagedFile, OSError), match=REASONS[name]):
        read_table(content)
    with pytest.raises((DamagedFile, OSError), match=REASONS[name]):
        open_parquet(BytesIO(content)).read()
    (path := tmp_path / "record.parquet").write_bytes(content)
    with pytest.raises(RecordError, match=REASONS[name]):
        read_record(path)


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"compression": "gzip"}])
def test_large_sound_files_are_read(options: dict[str, str]) -> None:
    rows = 4_000
    table = pa.table(
        {
            "text": [f"{number % 3}" * 2_000 for number in range(rows)],
            "number": list(range(rows)),
            "lists": [[number, 7] for number in range(rows)],
            "maps": pa.array(
                [[("key", [1.0])]] * rows, pa.map_(pa.string(), pa.list_(pa.float64()))
            ),
        }
    )
    pq.write_table(table, file := BytesIO(), row_group_size=1_500, **options)
    assert read_table(file.getvalue()).equals(table)


SEEDS = [
    ({}, 3),
    ({"compression": "none", "use_dictionary": False, "write_statistics": False}, 1),
    ({"data_page_version": "2.0", "write_page_checksum": True, "row_group_size": 7}, 20),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("options", "rows"), SEEDS)
def test_no_damage_ends_otherwise_than_in_an_error_of_reading(
    options: dict[str, object], rows: int
) -> None:
    columns = {
        "text": ["x" * 2_000, None, "y"] * rows,
        "lists": [[1, 2], None, []] * rows,
        "moments": pa.array([1, 2, None] * rows, pa.timestamp("us", tz="UTC")),
    }
    pq.write_table(pa.table(columns), file := BytesIO(), **options)
    chance = random.Random(15)
    for _ in range(300):
        damaged = bytearray(file.getvalue())
        for _ in range(chance.choice([1, 1, 3])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_table(bytes(damaged)).validate(full=True)
        except UNREADABLE:
            continue


@given(st.binary(max_size=60))
def test_a_page_header_is_read_or_refused(content: bytes) -> None:
    for start in (b"", b"\x15\x00\x15\x46\x15\x46", b"\x15\x04\x15\x08\x15\x08\x4c"):
        try:
            header = read_page_header(start + content, 0)
        except DamagedFile:
            continue
        assert min(header) >= 0


@pytest.mark.parametrize(
    "ending", ["1506150600 00", "1506 1506 1c 00 00 00", "1506 1506 1c 16 00 00 00 00"]
)
def test_every_way_of_reading_a_header_says_the_same(ending: str) -> None:
    content = bytes.fromhex("1500 15c801 1546 2c 150c 1510" + ending)
    assert read_page_header(b"before" + content, 6) == PageHeader(0, 100, 35, 6, 8, len(content))
    with pytest.raises(DamagedFile, match="header cannot be read"):
        read_page_header(content[:-1], 0)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("150215021502 00", "of a kind that no record file has"),
        ("1500150115022c1502150000 00", "does not say how large"),
        ("150015021502050402", "cannot be read"),
        ("1500" + "15ffffffffffffffffffff01", "cannot be read"),
        ("18ffff03", "cannot be read"),
        ("1c" * 10, "cannot be read"),
    ],
)
def test_headers_that_readers_could_take_in_two_ways_are_refused(header: str, reason: str) -> None:
    with pytest.raises(DamagedFile, match=reason):
        read_page_header(bytes.fromhex(header), 0)
