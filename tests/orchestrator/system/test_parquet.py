"""Parquet files that would take all memory, or that kill their reader, are refused by name."""

import random
import resource
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.system import parquet
from orchestrator.system.parquet import (
    ROWS_BYTES,
    ROWS_BYTES_A_BYTE,
    UNREADABLE,
    Extent,
    check_rows,
    read_schema,
    read_table,
    read_tables,
)
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.record.files import to_table
from tests.support.hostile_parquet import HOSTILE_FILES
from tests.support.records import a_record

HARMLESS = {*("values behind a page that says all", "a long text, repeated", "wide values")}
"""Files of which pyarrow reads no more than their few rows."""
DEADLY = f"""
import os, sys
sys.modules.update(numpy=None, pandas=None)
from {parquet.__name__} import serve
import {parquet.__name__} as parquet
content = parquet._content
parquet._content = lambda path, *more, **named: (
    os._exit(3) if path.name.startswith("deadly") else content(path, *more, **named)
)
serve(sys.stdin.buffer, sys.stdout.buffer)
"""


def written(path: Path, **columns: list[int]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.representatives(8)
@pytest.mark.timeout(60)
@pytest.mark.parametrize("extent", ["rows", "check"])
@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_small_file_that_would_take_all_memory_is_refused(
    name: str, extent: Extent, tmp_path: Path
) -> None:
    content = HOSTILE_FILES[name](to_table([a_record()]))
    (path := tmp_path / "record.parquet").write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (read,) = read_tables([path], extent=extent)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < ROWS_BYTES + ROWS_BYTES_A_BYTE * len(content)
    assert (read.fault is None) == (name in HARMLESS)


def test_rows_that_take_little_room_in_the_file_alone_are_refused(tmp_path: Path) -> None:
    nulls = pa.table({f"c{number}": pa.nulls(1_000_000) for number in range(10)})
    pq.write_table(nulls, path := tmp_path / "nulls.parquet")
    with pytest.raises(DamagedFile, match="bytes of rows; at most"):
        read_table(path)
    with pytest.raises(DamagedFile, match="bytes of rows; at most"):
        check_rows(path, lambda: None)
    assert read_schema(path).names == nulls.column_names


def test_the_file_at_which_the_reader_dies_is_found_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_CHILD", DEADLY)
    monkeypatch.setattr(parquet, "_idle", [])
    names = ["a", "deadly 1", "b", "deadly 2", "deadly 3", "c"]
    paths = [written(tmp_path / name, number=[1]) for name in names]
    reads = [*read_tables(paths)]
    assert [read.path for read in reads] == paths
    for read in reads:
        if read.path.name.startswith("deadly"):
            with pytest.raises(DamagedFile, match="ended with exit status 3"):
                read.table()
        else:
            assert read.table().num_rows == 1


def test_a_reader_that_somebody_killed_costs_no_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", number=[7])
    read_table(path)
    for child in parquet._idle:
        child.kill()
        child.wait()
    assert read_table(path)["number"].to_pylist() == [7]


def test_questions_may_be_asked_while_another_is_being_answered(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{number}.parquet", number=[number]) for number in range(5)]
    reads = read_tables(paths)
    assert next(reads).path == paths[0]
    assert read_table(paths[3])["number"].to_pylist() == [3]
    assert [read.path for read in reads] == paths[1:]


def test_the_reader_imports_nothing_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "random", "pyarrow", "runner", "orchestrator", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    path = written(tmp_path / "a.parquet", number=[7])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.setattr(parquet, "_idle", [])
    assert read_table(path)["number"].to_pylist() == [7]


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}])
def test_large_sound_files_are_read(options: dict[str, str], tmp_path: Path) -> None:
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
    pq.write_table(table, path := tmp_path / "large.parquet", row_group_size=1_500, **options)
    assert read_table(path).equals(table)
    assert check_rows(path, lambda: None).equals(read_schema(path))


SEEDS = [
    ({}, 3),
    ({"compression": "none", "use_dictionary": False, "write_statistics": False}, 1),
    ({"data_page_version": "2.0", "write_page_checksum": True, "row_group_size": 7}, 20),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("options", "rows"), SEEDS)
def test_no_damage_ends_otherwise_than_in_an_error_of_reading(
    options: dict[str, object], rows: int, tmp_path: Path
) -> None:
    columns = {
        "text": ["x" * 2_000, None, "y"] * rows,
        "lists": [[1, 2], None, []] * rows,
        "moments": pa.array([1, 2, None] * rows, pa.timestamp("us", tz="UTC")),
    }
    pq.write_table(pa.table(columns), file := BytesIO(), **options)
    chance = random.Random(15)
    paths = [tmp_path / str(number) for number in range(300)]
    for path in paths:
        damaged = bytearray(file.getvalue())
        for _ in range(chance.choice([1, 1, 3])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
    for read in read_tables(paths):
        try:
            read.table().validate(full=True)
        except UNREADABLE:
            continue


def test_no_file_is_to_blame_for_a_reader_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.parquet", number=[7])
    monkeypatch.setattr(parquet, "_CHILD", "raise SystemExit(5)")
    monkeypatch.setattr(parquet, "_idle", [])
    with pytest.raises(StoreError, match="does not start: it ended with exit status 5"):
        read_table(path)
