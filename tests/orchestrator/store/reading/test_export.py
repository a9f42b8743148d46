"""What is taken out is what the views show, and others can read it."""

import csv
import json
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from orchestrator.errors import MatrixError, StoreError
from orchestrator.store import Exported, Store, Wanted, export, query
from orchestrator.store.reading.export import TOPICS
from runner.record import save_record
from tests.orchestrator.bundle.conftest import save_foreign
from tests.records import a_failure, a_record


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of which some must not be quoted."""
    site = tmp_path_factory.mktemp("site")
    records = site / "records"
    records.mkdir()
    for record in (
        a_record(batch_size=1),
        a_record(batch_size=2, model="gpt2", runtime="onnxruntime"),
        a_record(batch_size=4, backend="openvino", runtime="openvino"),
        a_record(batch_size=8, correct=False, correct_reason="beyond the tolerance"),
        a_record(batch_size=16, proof="partial"),
        a_failure("failed", "broke", batch_size=32, hardware_id="ffff", device_name="Other"),
    ):
        save_record(record, records)
    with Store.open(site / "benchmarks.duckdb") as store:
        store.merge([records]).require_complete()
    return site / "benchmarks.duckdb"


@pytest.mark.parametrize(
    ("topic", "rows", "of_all"),
    [("performance", 3, 6), ("hardware", 1, 2), ("compatibility", 3, 3), ("raw", 3, 5)],
)
def test_all_takes_what_must_not_be_quoted(
    database: Path, tmp_path: Path, topic: str, rows: int, of_all: int
) -> None:
    path = tmp_path / "a.parquet"
    assert export(database, Wanted(topic, path)) == Exported(topic, path, rows, files=1)
    everything = Wanted(topic, tmp_path / "all.parquet", everything=True)
    assert export(database, everything).rows == of_all
    assert len(pd.read_parquet(path)) == rows
    assert len(pl.read_parquet(tmp_path / "all.parquet")) == of_all


def test_marks_stand_beside_what_must_not_be_quoted(database: Path, tmp_path: Path) -> None:
    for topic in ("performance", "raw"):
        path = tmp_path / f"{topic}.parquet"
        export(database, Wanted(topic, path, everything=True))
        assert {"status", "proof", "correct", "grade", "source", "simulated"} <= set(
            pl.read_parquet_schema(path)
        )


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_each_topic_comes_in_each_format(
    database: Path, tmp_path: Path, topic: str, form: str
) -> None:
    path = tmp_path / "out"
    rows = export(database, Wanted(topic, path, form)).rows
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


def test_the_name_says_the_format_unless_somebody_does(database: Path, tmp_path: Path) -> None:
    export(database, Wanted("performance", tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text())
    export(database, Wanted("performance", tmp_path / "b"))
    assert len(pd.read_parquet(tmp_path / "b")) == 3
    for name in ("c.txt", "d.csv", "e"):
        export(database, Wanted("performance", tmp_path / name, "csv"))
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
    with pytest.raises(MatrixError, match=re.escape(told)):
        export(database, Wanted("performance", tmp_path / name, form))
    assert list(tmp_path.iterdir()) == []


def test_columns_of_newer_runners_are_in_raw(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    save_foreign(records, a_record(), zeal="high")
    with Store.open(tmp_path / "b.duckdb") as store:
        store.merge([records]).require_complete()
    export(tmp_path / "b.duckdb", Wanted("raw", tmp_path / "raw.json"))
    (row,) = json.loads((tmp_path / "raw.json").read_text())
    assert json.loads(row["other"]) == {"zeal": "high"}


def test_raw_durations_stay_whole_numbers(database: Path, tmp_path: Path) -> None:
    export(database, Wanted("raw", tmp_path / "raw.parquet"))
    frame = pl.read_parquet(tmp_path / "raw.parquet")
    assert frame.schema["durations_ns"] == pl.List(pl.Int64)
    assert frame["durations_ns"].to_list() == [[2_000_000, 3_000_000, 4_000_000]] * 3


def test_partitions_are_read_by_others(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    wanted = Wanted("performance", folder, partition_by=("backend", "model"))
    assert export(database, wanted) == Exported("performance", folder, 3, files=3)
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
    export(database, Wanted("performance", folder, partition_by=("model",)))
    with pytest.raises(MatrixError, match="exists already"):
        export(database, Wanted("performance", folder, partition_by=by))
    export(database, Wanted("performance", folder, partition_by=by, force=True))
    assert sorted(path.name for path in folder.iterdir()) == ["backend=cpu", "backend=openvino"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(MatrixError, match=r"holds notes\.txt"):
        export(database, Wanted("performance", folder, partition_by=by, force=True))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted(None, Path("a.csv")), "wants a topic and `--output`"),
        (Wanted("raw", None), "wants a topic and `--output`"),
        (Wanted("raw", Path("a"), "csv", ("model",)), "folders hold Parquet, not csv"),
        (Wanted("raw", Path("a"), None, ("modell",)), "no column 'modell'"),
        (Wanted("raw", Path("-"), None, ("model",)), "--output -: is a stream"),
    ],
)
def test_what_does_not_go_together_is_refused(database: Path, wanted: Wanted, told: str) -> None:
    with pytest.raises(MatrixError, match=told):
        export(database, wanted)


def test_without_a_database_there_is_nothing_to_take(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database yet"):
        export(tmp_path / "none.duckdb", Wanted("raw", tmp_path / "a.csv"))
    assert list(tmp_path.iterdir()) == []
