"""Columns whose meaning has changed say what their names say, wherever a record comes from."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store import Store
from orchestrator.store.schema.migrations import _ADDED
from runner.contract.record import save_record
from runner.contract.record.doubts import percent
from runner.measure.statistics.replication import DEFAULT_SPREAD
from tests.support.records import a_record

GAPS = [1_000_000, 3_000_000, 2_000_000, 4_000_000]
FIRST = [5_000_000, 7_000_000]
DURATIONS = [9_000_000, 13_000_000]
OLDER: dict[str, Any] = {
    "run_id": "older",
    "mode": "generation",
    "new_tokens": 3,
    "schema_version": 5,
    "durations_ns": DURATIONS,
    "part_durations_ns": {"first_token": FIRST, "output_token": GAPS},
    "time_per_output_token_mean_s": 0.0025,
    "time_per_output_token_median_s": 0.0025,
    "time_per_output_token_p50_s": 0.0025,
    "decode_throughput": 400.0,
    "token_throughput": 6 * 1e9 / sum(DURATIONS),
}
QUEUE: dict[str, Any] = {
    "run_id": "older",
    "scenario": "server",
    "target_qps": 20.0,
    "schema_version": 5,
    "durations_ns": [2_000_000] * 700,
    "latency_p90_s": 0.002,
    "latency_p99_s": 0.002,
}
NEWER = {**OLDER, "run_id": "newer", "schema_version": 6, "time_per_output_token_mean_s": 0.0025}
COLUMNS = """
    run_id, scenario, time_per_output_token_mean_s, time_per_output_token_median_s,
    time_per_output_token_p50_s, inter_token_latency_mean_s, inter_token_latency_p50_s,
    latency_p99_s, latency_p99_high_s, weights_seed
"""
EXPECTED = [
    ("newer", "single_stream", 0.0025, 0.0025, 0.0025, None, None, None, None, 7),
    ("older", "server", None, None, None, None, None, None, None, 7),
    ("older", "single_stream", 0.0025, 0.0025, None, 0.0025, 0.0025, None, None, 7),
]


def rows(database: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(database, read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """A database of today with record files of older runners."""
    for number, columns in enumerate((OLDER, QUEUE, NEWER)):
        folder = tmp_path / str(number)
        folder.mkdir()
        save_record(a_record(**columns), folder)
        with Store.open(tmp_path / "merged.duckdb") as store:
            assert store.merge([folder]).damaged == ()
    return tmp_path / "merged.duckdb"


@pytest.mark.slow
def test_gaps_of_older_files_are_inter_token_latencies_and_queues_have_no_percentiles(
    merged: Path,
) -> None:
    assert rows(merged, f"SELECT {COLUMNS} FROM benchmark_results ORDER BY ALL") == EXPECTED


def test_the_one_seed_of_older_files_is_that_of_weights_too(tmp_path: Path) -> None:
    path = save_record(a_record(seed=9, weights_seed=4), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["weights_seed"]), path)
    save_record(a_record(run_id="newer", batch_size=8, seed=9, weights_seed=4), tmp_path)
    with Store.open(tmp_path / "merged.duckdb") as store:
        assert store.merge([tmp_path]).damaged == ()
    sql = "SELECT seed, weights_seed FROM benchmark_results ORDER BY ALL"
    assert rows(tmp_path / "merged.duckdb", sql) == [(9, 4), (9, 9)]


def test_stages_of_older_starts_have_medians_in_place_of_means(tmp_path: Path) -> None:
    parts = {"import": [1_000_000_000, 5_000_000_000, 2_000_000_000]}
    starts = {"mode": "startup", "schema_version": 5, "part_durations_ns": parts}
    path = save_record(a_record(**starts, durations_ns=parts["import"]), tmp_path)
    mean = pa.array([8 / 3])
    pq.write_table(pq.read_table(path).append_column("startup_import_mean_s", mean), path)
    with Store.open(tmp_path / "merged.duckdb") as store:
        assert store.merge([tmp_path]).damaged == ()
    sql = "SELECT startup_warm_import_median_s, startup_cold_median_s, other FROM benchmark_results"
    assert rows(tmp_path / "merged.duckdb", sql) == [(2.0, None, None)]


NOT_SHOWN = f"differences below {percent(DEFAULT_SPREAD.shown)} are not shown"
GRADES: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"schema_version": 5, "grade": "A", "rounds": 1}, "C", [f"one process: {NOT_SHOWN}"]),
    ({"schema_version": 5, "grade": "B", "rounds": None}, "C", [f"one process: {NOT_SHOWN}"]),
    ({"schema_version": 5, "grade": "A", "rounds": 5}, "C", ["the interval is of pooled"]),
    (
        {"schema_version": 5, "grade": "A", "rounds": 1, "mode": "startup"},
        "C",
        [f"one round of starts: {NOT_SHOWN}"],
    ),
    ({"schema_version": 5, "grade": "C", "rounds": 5}, "C", []),
    ({"schema_version": 5, "grade": "D", "rounds": 1}, "D", []),
    ({"schema_version": 6, "grade": "A", "rounds": 5}, "A", []),
    ({"schema_version": 6, "grade": "A", "rounds": 1}, "A", []),
]


def test_an_older_file_claims_no_more_than_its_interval_supports_today(tmp_path: Path) -> None:
    for number, (columns, *_) in enumerate(GRADES, start=1):
        save_record(a_record(**columns, batch_size=number, grade_reasons=()), tmp_path)
    with Store.open(tmp_path / "merged.duckdb") as store:
        assert store.merge([tmp_path]).damaged == ()
    sql = "SELECT grade, grade_reasons FROM benchmark_results ORDER BY batch_size"
    graded = rows(tmp_path / "merged.duckdb", sql)
    assert [grade for grade, _ in graded] == [grade for _, grade, _ in GRADES]
    for (_, reasons), (*_, expected) in zip(graded, GRADES, strict=True):
        assert len(reasons) == len(expected)
        assert all(map(str.startswith, reasons, expected))


@pytest.mark.slow
def test_a_database_of_schema_6_becomes_what_a_merge_of_its_records_makes(merged: Path) -> None:
    with duckdb.connect(merged) as connection:
        for (view,) in connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall():
            connection.execute(f"DROP VIEW {view}")
        connection.execute("DELETE FROM benchmark_results WHERE schema_version = 6")
        connection.execute(
            "UPDATE benchmark_results SET latency_p99_s = 0.002 WHERE scenario = 'server'"
        )
        connection.execute(
            "UPDATE benchmark_results SET time_per_output_token_p50_s = 0.0025,"
            " time_per_output_token_mean_s = 0.0026 WHERE scenario <> 'server'"
        )
        for name in _ADDED:
            connection.execute(f"ALTER TABLE benchmark_results DROP COLUMN {name}")
        connection.execute("DROP TABLE accepted_changes")
        connection.execute("UPDATE schema_version SET version = 6")
    Store.open(merged).close()
    older = ("older", "single_stream", 0.0025, 0.0025, None, 0.0026, 0.0025, None, None, 7)
    sql = f"SELECT {COLUMNS} FROM benchmark_results ORDER BY scenario"
    assert rows(merged, sql) == [EXPECTED[1], older]
