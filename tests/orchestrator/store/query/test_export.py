"""What is taken out is what the views show, and others can read it."""

import csv
import json
import re
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

from orchestrator.store.query.answer import Answer
from orchestrator.store.query.ask import query
from orchestrator.store.query.export import (
    NULL,
    TOPICS,
    ExportedTopic,
    ExportOptions,
    export_topic,
    is_part,
    require_partitions,
    write_partitions,
)
from orchestrator.store.store import Store
from runner.contract.errors import UsageError
from runner.contract.record.files import save_record
from tests.support.records import a_failure, a_record


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    records = site / "records"
    records.mkdir()
    for record in (
        a_record(batch_size=1),
        a_record(
            batch_size=2, model="gpt2", runtime="onnxruntime", mode="generation", new_tokens=8
        ),
        a_record(batch_size=4, backend="openvino", runtime="openvino"),
        a_record(batch_size=8, correct=False, correct_reason="beyond the tolerance"),
        a_record(batch_size=16, proof="partial"),
        a_failure("failed", "broke", batch_size=32, device_name="Other"),
    ):
        save_record(record, records)
    with Store.open(site / "benchmarks.duckdb") as store:
        store.merge([records]).require_complete()
    return site / "benchmarks.duckdb"


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("topic", "rows", "of_all"),
    [("performance", 3, 6), ("hardware", 1, 2), ("compatibility", 3, 3), ("raw", 3, 5)],
)
def test_all_takes_what_must_not_be_quoted(
    database: Path, tmp_path: Path, topic: str, rows: int, of_all: int
) -> None:
    path = tmp_path / "a.parquet"
    assert export_topic(database, ExportOptions(topic, path)) == ExportedTopic(
        topic, path, rows, files=1
    )
    everything = ExportOptions(topic, tmp_path / "all.parquet", everything=True)
    assert export_topic(database, everything).rows == of_all
    assert len(pd.read_parquet(path)) == rows
    assert len(pl.read_parquet(tmp_path / "all.parquet")) == of_all


def test_marks_stand_beside_what_must_not_be_quoted(database: Path, tmp_path: Path) -> None:
    for topic in ("performance", "raw"):
        path = tmp_path / f"{topic}.parquet"
        export_topic(database, ExportOptions(topic, path, everything=True))
        assert {"status", "proof", "correct", "grade", "source", "simulated"} <= set(
            pl.read_parquet_schema(path)
        )


@pytest.mark.representatives(5)
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_each_topic_comes_in_each_format(
    database: Path, tmp_path: Path, topic: str, form: str
) -> None:
    path = tmp_path / "out"
    rows = export_topic(database, ExportOptions(topic, path, form)).rows
    columns = query(database, f"SELECT * FROM ({TOPICS[topic].quotable}) LIMIT 0").column_names
    if form == "parquet":
        frame = pl.read_parquet(path)
        assert (frame.height, frame.columns) == (rows, columns)
    elif form == "json":
        told = json.loads(path.read_text("utf-8"))
        assert (len(told), list(told[0])) == (rows, columns)
    else:
        lines = list(csv.reader(path.read_text("utf-8").splitlines()))
        assert (len(lines) - 1, lines[0]) == (rows, columns)


def test_generation_has_its_own_columns_and_all_marks(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    for everything in (False, True):
        options = ExportOptions("generation", path, everything=everything, force=True)
        assert export_topic(database, options).rows == 1
        columns = {*pl.read_parquet(path).columns}
        assert {"time_to_first_token_p90_ms", "token_throughput", "memory_mb", "off"} <= columns
        assert {"status", "proof", "correct", "grade", "source", "simulated"} <= columns


def test_the_name_says_the_format_unless_somebody_does(database: Path, tmp_path: Path) -> None:
    export_topic(database, ExportOptions("performance", tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text())
    export_topic(database, ExportOptions("performance", tmp_path / "b"))
    assert len(pd.read_parquet(tmp_path / "b")) == 3
    for name in ("c.txt", "d.csv", "e"):
        export_topic(database, ExportOptions("performance", tmp_path / name, "csv"))
        assert (tmp_path / name).read_text().startswith("result_id,")


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [
        ("out.xlsx", None, "'.xlsx' is not one of .csv, .json, .parquet"),
        ("out.md", None, "'.md' is not one of .csv, .json, .parquet"),
        ("out.json", "csv", "ends as json does, and `--format` is csv"),
        ("out.md", "csv", "ends as markdown does, and `--format` is csv"),
        ("OUT.CSV", "parquet", "ends as csv does, and `--format` is parquet"),
    ],
)
def test_a_name_that_says_something_else_is_refused(
    database: Path, tmp_path: Path, name: str, form: str | None, told: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        export_topic(database, ExportOptions("performance", tmp_path / name, form))
    assert list(tmp_path.iterdir()) == []


def test_raw_durations_stay_whole_numbers(database: Path, tmp_path: Path) -> None:
    export_topic(database, ExportOptions("raw", tmp_path / "raw.parquet"))
    frame = pl.read_parquet(tmp_path / "raw.parquet")
    assert frame.schema["durations_ns"] == pl.List(pl.Int64)
    assert frame["durations_ns"].to_list() == [[2_000_000, 3_000_000, 4_000_000]] * 3


def test_partitions_are_read_by_others(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    wanted = ExportOptions("performance", folder, partition_by=("backend", "model"))
    assert export_topic(database, wanted) == ExportedTopic("performance", folder, 3, files=3)
    by_pandas = pd.read_parquet(folder)
    by_polars = pl.scan_parquet(folder, hive_partitioning=True).collect()
    expected = query(database, "SELECT * FROM benchmark_performance").to_pydict()
    for column in ("backend", "model", "cell_id", "latency_median_ms"):
        assert sorted(by_pandas[column]) == sorted(expected[column])
        assert sorted(by_polars[column]) == sorted(expected[column])
    assert set(by_pandas.columns) == set(by_polars.columns) == set(expected)


def test_an_earlier_export_is_replaced_by_force(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    by = ("backend",)
    export_topic(database, ExportOptions("performance", folder, partition_by=("model",)))
    with pytest.raises(UsageError, match="exists already"):
        export_topic(database, ExportOptions("performance", folder, partition_by=by))
    export_topic(database, ExportOptions("performance", folder, partition_by=by, force=True))
    assert sorted(path.name for path in folder.iterdir()) == ["backend=cpu", "backend=openvino"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds notes\.txt"):
        export_topic(database, ExportOptions("performance", folder, partition_by=by, force=True))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (ExportOptions(None, Path("a.csv")), "give a topic and `--output`"),
        (ExportOptions("raw", None), "give a topic and `--output`"),
        (ExportOptions("raw", Path("a"), "csv", ("model",)), "folders hold Parquet, not csv"),
        (ExportOptions("raw", Path("a"), None, ("modell",)), "no column 'modell'"),
        (ExportOptions("raw", Path("-"), None, ("model",)), "--output -: is a stream"),
    ],
)
def test_what_does_not_go_together_is_refused(
    database: Path, wanted: ExportOptions, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        export_topic(database, wanted)


AWKWARD = ("a/b", "c d", "e=f", "100%", "g:h*?", "ü", "#1", "'q'", '"q"', "back\\slash", "a.b-c_d+")


def write(folder: Path, by: Sequence[str], *batches: dict[str, Sequence[Any]]) -> int:
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
    assert write(tmp_path, ("model",), {"model": ["", "a", None], "n": [1, 2, 3]}) == 3
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
        (("latency",), "latency has type double, which cannot name folders"),
        (("tags",), "tags has type list"),
        (("model", "model"), "names a column twice"),
        (("model", "n", "day"), "leaves nothing to write"),
    ],
)
def test_columns_that_name_no_folders_are_refused(by: tuple[str, ...], told: str) -> None:
    fields = [("model", pa.string()), ("n", pa.int64()), ("day", pa.date32())]
    if by != ("model", "n", "day"):
        fields += [("latency", pa.float64()), ("tags", pa.list_(pa.string()))]
    with pytest.raises(UsageError, match=told):
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
