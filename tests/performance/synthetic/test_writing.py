"""Synthetic record files: whole, the same for the same seed, and marked as what they are."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from performance.synthetic import DURATIONS, synthesise
from runner.contract.errors import StoreError
from runner.contract.record.record import Record

ROWS = 1500


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthetic")
    list(synthesise(folder, ROWS, 7))
    return folder


@pytest.fixture(scope="module")
def rows(written: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(written).to_pylist(maps_as_pydicts="strict")
    return found


def ask(written: Path, select: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(select.format(files=f"'{written}/*.parquet'")).fetchall()


@pytest.mark.slow
def test_each_row_is_a_record_that_says_what_it_is(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == ROWS
    for row in rows:
        Record.model_validate({name: row[name] for name in Record.model_fields})
        assert (row["source"], row["simulated"], row["marks"]) == ("synthetic", True, ["synthetic"])


def test_no_cell_has_two_verdicts_in_a_run(written: Path) -> None:
    sql = "SELECT count(*), count(DISTINCT run_id || cell_id), count(DISTINCT run_id) FROM {files}"
    assert ask(written, sql) == [(ROWS, ROWS, 3)]


def test_numbers_follow_from_the_raw_durations(written: Path) -> None:
    off = ask(
        written,
        f"""
        SELECT cell_id FROM {{files}} WHERE status = 'ok' AND NOT (
            len(durations_ns) = {DURATIONS} AND iterations = {DURATIONS}
            AND list_sum(round_iterations) = {DURATIONS}
            AND abs(list_avg(durations_ns) / 1e9 / latency_mean_s - 1) < 1e-9
            AND abs(list_median(durations_ns) / 1e9 / latency_median_s - 1) < 1e-9
            AND abs(list_stddev_samp(durations_ns) / 1e9 / latency_stddev_s - 1) < 1e-9
            AND latency_min_s <= latency_median_low_s AND latency_median_low_s <= latency_median_s
            AND latency_median_s <= latency_median_high_s
            AND latency_median_high_s <= latency_max_s AND latency_min_s > 0
            AND abs(batch_size * iterations / steady_time_s / throughput - 1) < 1e-9
            AND (scenario = 'server'
                OR abs(list_sum(durations_ns) / 1e9 / steady_time_s - 1) < 1e-9)
            AND abs(autocorrelation) < 1 AND effective_iterations BETWEEN 1 AND iterations)
        """,
    )
    assert off == []


def test_every_mode_and_scenario_and_several_failures_occur(rows: list[dict[str, Any]]) -> None:
    assert {row["mode"] for row in rows} == {"inference", "generation", "training", "startup"}
    assert {row["scenario"] for row in rows} == {"single_stream", "offline", "server"}
    failed = {row["status"] for row in rows} - {"ok"}
    assert failed >= {"unsupported", "failed", "timeout"}
    for row in rows:
        assert (row["reason_code"] is None) == (row["phase"] is None) == (row["status"] == "ok")
        assert (row["durations_ns"] is None) == (row["latency_median_s"] is None)
        assert (row["durations_ns"] is None) == (row["status"] != "ok")


@pytest.mark.slow
def test_the_same_seed_writes_the_same_and_another_one_does_not(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    def write(name: str, *options: int, first: int = 0) -> list[dict[str, Any]]:
        list(synthesise(tmp_path / name, *options, first=first))
        read: list[dict[str, Any]] = pq.read_table(tmp_path / name).to_pylist(
            maps_as_pydicts="strict"
        )
        return read

    assert write("same", ROWS, 7) == rows
    assert write("later", 500, 7, first=1000) == rows[1000:]
    other = write("other", 20, 8)
    assert [row["durations_ns"] for row in other] != [row["durations_ns"] for row in rows[:20]]
    (only,) = synthesise(tmp_path / "new" / "folder", 3, 0)
    assert only == (tmp_path / "new" / "folder" / "synthetic-0-0000000000.parquet", 3)


def test_a_folder_that_cannot_be_made_or_is_not_empty_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file/folder: cannot be written: Not a directory"):
        list(synthesise(tmp_path / "file" / "folder", 3, 0))
    with pytest.raises(StoreError, match="is not empty"):
        list(synthesise(tmp_path, 3, 0))
