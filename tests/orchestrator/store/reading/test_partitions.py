"""Folders of Parquet files that others find their way in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.dataset import partitioning

from orchestrator.errors import MatrixError
from orchestrator.store.reading.partitions import (
    NULL,
    is_part,
    require_partitions,
    write_partitions,
)
from orchestrator.store.reading.query import Answer

AWKWARD = ("a/b", "c d", "e=f", "100%", "g:h*?", "ü", "#1", "'q'", '"q"', "back\\slash", "a.b-c_d+")


def write(folder: Path, by: Sequence[str], *batches: dict[str, Sequence[Any]]) -> int:
    """Write rows, which come as they are found."""
    tables = [pa.RecordBatch.from_pydict(dict(batch)) for batch in batches]
    schema = tables[0].schema
    require_partitions(schema, by)
    return write_partitions(Answer(schema, iter(tables)), by, folder)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))


def test_folders_are_named_after_values(tmp_path: Path) -> None:
    backends, models = ["cpu", "cpu", "cuda"], ["gpt2", "vit", "gpt2"]
    rows = {"backend": backends, "model": models, "latency": [1.0, 2.0, 3.0]}
    assert write(tmp_path, ("backend", "model"), rows) == 3
    assert files(tmp_path) == [
        "backend=cpu/model=gpt2/part-0.parquet",
        "backend=cpu/model=vit/part-0.parquet",
        "backend=cuda/model=gpt2/part-0.parquet",
    ]
    assert all(is_part(Path(name)) for name in files(tmp_path))
    assert pq.read_schema(tmp_path / files(tmp_path)[0]).names == ["latency"]


def test_a_partition_that_spans_batches_is_one_file(tmp_path: Path) -> None:
    batches = [{"model": ["a", "b"], "n": [1, 2]}, {"model": ["b", "c"], "n": [3, 4]}]
    assert write(tmp_path, ("model",), *batches) == 3
    assert pq.read_table(tmp_path / "model=b" / "part-0.parquet").to_pydict()["n"] == [2, 3]


def test_null_and_empty_text_share_a_folder_and_lose_no_row(tmp_path: Path) -> None:
    rows = {"model": ["", "a", None], "n": [1, 2, 3]}
    assert write(tmp_path, ("model",), rows) == 3
    assert files(tmp_path) == [
        f"model={NULL}/part-0.parquet",
        f"model={NULL}/part-1.parquet",
        "model=a/part-0.parquet",
    ]
    named = partitioning(pa.schema([("model", pa.string())]), flavor="hive")
    by_pandas = pd.read_parquet(tmp_path, partitioning=named)
    assert sorted(by_pandas["n"]) == [1, 2, 3]
    assert by_pandas["model"].isna().sum() == 2
    assert polars_reads(tmp_path) == duckdb_reads(tmp_path) == {(None, 1), ("a", 2), (None, 3)}


def duckdb_reads(folder: Path) -> set[tuple[str | None, int]]:
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT model, n FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
        )
        return set(found.fetchall())


def pandas_reads(folder: Path) -> set[tuple[str | None, int]]:
    read = pd.read_parquet(folder)
    return set(zip(read["model"].astype(object), read["n"], strict=True))


def polars_reads(folder: Path) -> set[tuple[str | None, int]]:
    read = pl.scan_parquet(folder, hive_partitioning=True).collect()
    return set(read.select("model", "n").iter_rows())


READERS = {"duckdb": duckdb_reads, "pandas": pandas_reads, "polars": polars_reads}


@pytest.mark.parametrize("reader", READERS)
def test_awkward_values_are_read_as_they_were(tmp_path: Path, reader: str) -> None:
    write(tmp_path / "out", ("model",), {"model": AWKWARD, "n": range(len(AWKWARD))})
    expected = set(zip(AWKWARD, range(len(AWKWARD)), strict=True))
    assert READERS[reader](tmp_path / "out") == expected


def test_no_value_leads_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "out", ("model",), {"model": ["../../x", "/abs", ".."], "n": [1, 2, 3]})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(files(tmp_path / "out")) == 3


def test_without_a_row_the_columns_are_there(tmp_path: Path) -> None:
    empty = pa.RecordBatch.from_pydict(
        {"model": pa.array([], pa.string()), "n": pa.array([], "int64")}
    )
    folder = tmp_path / "out"
    assert write_partitions(Answer(empty.schema, iter([empty])), ("model",), folder) == 1
    assert files(folder) == ["part-0.parquet"]
    for frame in (pd.read_parquet(folder), pl.read_parquet(folder, hive_partitioning=True)):
        assert (list(frame.columns), len(frame)) == (["model", "n"], 0)


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (("modell",), "there is no column 'modell'"),
        (("latency",), "latency is double, after which no folder can be named"),
        (("tags",), "tags is list"),
        (("model", "model"), "names a column twice"),
        (("model", "n", "day"), "leaves nothing to write"),
    ],
)
def test_columns_that_name_no_folders_are_refused(by: tuple[str, ...], told: str) -> None:
    fields = [("model", pa.string()), ("n", pa.int64()), ("day", pa.date32())]
    if by != ("model", "n", "day"):
        fields += [("latency", pa.float64()), ("tags", pa.list_(pa.string()))]
    with pytest.raises(MatrixError, match=told):
        require_partitions(pa.schema(fields), by)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("backend=cpu/part-0.parquet", True),
        ("backend=cpu/model=a%2Fb/part-12.parquet", True),
        ("part-0.parquet", True),
        ("backend=cpu/records.parquet", False),
        ("backend/part-0.parquet", False),
        ("backend=cpu/benchmarks.duckdb", False),
    ],
)
def test_what_an_export_made_is_known_by_its_name(name: str, ours: bool) -> None:
    assert is_part(Path(name)) == ours


@pytest.mark.parametrize(
    ("name", "told"),
    [("modell", "'modell' here; did you mean 'model'?"), ("zzz", "no column 'zzz' here")],
)
def test_a_column_that_is_not_there_is_told_with_the_nearest(name: str, told: str) -> None:
    schema = pa.schema([("model", pa.string()), ("backend", pa.string()), ("n", pa.int64())])
    with pytest.raises(MatrixError) as caught:
        require_partitions(schema, (name,))
    assert str(caught.value).endswith(told)
