"""The store: opened, refused, locked; how much its import loads."""

import time
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.health.fix import validate_database
from orchestrator.store.query.ask import query
from orchestrator.store.query.export import ExportOptions, export_topic
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from performance.scratch import SEED, merge
from performance.synthetic import synthesise
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import holding


def test_opening_creates_the_file_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "benchmarks.duckdb"
    Store.open(path).close()
    assert scalar(path, "SELECT version FROM schema_version") == STORE_VERSION


def test_an_empty_file_becomes_a_database(database: Path) -> None:
    database.touch()
    Store.open(database).close()
    assert scalar(database, "SELECT scratch FROM schema_version") is False


def test_leftovers_of_a_killed_creation_do_not_matter(database: Path) -> None:
    database.with_name(f".{database.name}.new").write_text("half a database")
    database.with_name(f"{database.name}.wal").write_text("the log of a deleted database")
    Store.open(database).close()
    assert sorted(path.name for path in database.parent.iterdir()) == [
        "benchmarks.duckdb",
        "benchmarks.duckdb.lock",
    ]


def test_reading_needs_a_database(database: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet") as caught:
        Store.open_readonly(database)
    assert "orchestrator bench" in str(caught.value.hint)
    assert not database.exists()


def test_a_foreign_database_is_left_alone(database: Path) -> None:
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 1 AS id")
    with pytest.raises(StoreError, match="not one of AccelMatrix"):
        Store.open(database)
    assert scalar(database, "SELECT count(*) FROM duckdb_tables()") == 1


def test_a_foreign_table_of_the_same_name_does_not_deceive(database: Path) -> None:
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE schema_version AS SELECT 1 AS migration")
    with pytest.raises(StoreError, match="not one of AccelMatrix"):
        Store.open(database)


@pytest.mark.parametrize(
    "statements",
    [
        "ALTER TABLE raw_benchmark_data ADD COLUMN more BIGINT",
        "ALTER TABLE raw_benchmark_data RENAME TO other;"
        " CREATE VIEW raw_benchmark_data AS SELECT * FROM other",
    ],
    ids=["a column more", "a view in its place"],
)
def test_tables_that_changed_without_a_new_version_are_noticed(
    database: Path, statements: str
) -> None:
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        connection.execute(statements)
    with pytest.raises(StoreError, match="table raw_benchmark_data does not have the columns"):
        Store.open(database)


def test_a_database_stays_scratch_or_real(tmp_path: Path) -> None:
    Store.open(tmp_path / "scratch", scratch=True).close()
    Store.open(tmp_path / "real").close()
    with pytest.raises(StoreError, match="a scratch database"):
        Store.open(tmp_path / "scratch")
    with pytest.raises(StoreError, match="a real database"):
        Store.open(tmp_path / "real", scratch=True)
    with Store.open_readonly(tmp_path / "scratch") as store:
        assert store.scratch


def test_a_refused_database_is_not_kept_locked(database: Path) -> None:
    Store.open(database).close()
    with pytest.raises(StoreError):
        Store.open(database, scratch=True)
    Store.open(database, wait_s=0).close()


def test_a_second_writer_of_this_process_is_told(database: Path) -> None:
    with Store.open(database), pytest.raises(StoreError, match=r"still in use .* after waiting 0"):
        Store.open(database, wait_s=0)


@pytest.mark.parametrize("mode", ["writing", "reading"])
def test_who_holds_the_database_is_named(database: Path, mode: str) -> None:
    Store.open(database).close()
    with holding(database, mode) as holder:
        with pytest.raises(StoreError, match=rf"in use by .*PID {holder.pid}") as caught:
            Store.open(database, wait_s=0.1)
        assert caught.value.hint
        holder.communicate()
    Store.open(database).close()


def test_a_writer_gets_its_turn_when_the_holder_ends(database: Path) -> None:
    Store.open(database).close()
    with holding(database, "writing") as holder:
        assert holder.stdin is not None
        holder.stdin.close()
        with Store.open(database, wait_s=30) as store:
            assert store.runs() == []


ROWS = 20
"""Results of one merge."""
MOST_TURNS = 1000
"""Turns of one process whose results are its own."""


def merges(database: Path, number: int, seconds: float) -> int:
    """Take turns for so many seconds; returns the number of merges."""
    deadline = time.monotonic() + seconds
    for turn in count():
        if time.monotonic() > deadline:
            return turn
        take_turn(database, number, turn)
    raise AssertionError


def take_turn(database: Path, number: int, turn: int) -> None:
    folder = database.parent / f"records-{number}-{turn}"
    list(synthesise(folder, ROWS, SEED, first=(number * MOST_TURNS + turn) * ROWS))
    merge(folder, database, ROWS)
    assert rows(database) >= (turn + 1) * ROWS
    if turn % 3 == 1:
        validate_database(database)
    if turn % 3 == 2:
        output = database.with_name(f"export-{number}.parquet")
        export_topic(database, ExportOptions("performance", output, everything=True, force=True))


def rows(database: Path) -> int:
    (row,) = query(database, "SELECT count(*) AS n FROM benchmark_results").to_pylist()
    return int(row["n"])


@pytest.mark.parametrize(
    ("processes", "seconds"),
    [
        pytest.param(2, 2.0, marks=pytest.mark.slow),
        pytest.param(5, 60.0, marks=[pytest.mark.nightly, pytest.mark.timeout(600)]),
    ],
)
def test_processes_merge_and_ask_at_once(tmp_path: Path, processes: int, seconds: float) -> None:
    database = tmp_path / "scratch.duckdb"
    Store.open(database, scratch=True).close()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        arguments = ([database] * processes, range(processes), [seconds] * processes)
        total = sum(pool.map(merges, *arguments))
    assert total >= processes
    assert rows(database) == total * ROWS
