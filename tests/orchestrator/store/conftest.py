"""Files and databases for the store's tests."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from runner.record import Record, save_record

Save = Callable[..., Path]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "benchmarks.duckdb"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def save(results: Path) -> Save:
    """Save records below the results folder, each in a folder of its own; returns the last file."""

    def save_all(*records: Record) -> Path:
        path = results
        for record in records:
            folder = results / str(sum(1 for _ in results.iterdir()))
            folder.mkdir()
            path = save_record(record, folder)
        return path

    return save_all


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's own may not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def content(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables of results, in a fixed order."""
    tables = (
        *("benchmark_runs", "benchmark_results", "hardware_info", "environments", "models"),
        *("artefacts", "raw_benchmark_data", "replay_jobs"),
    )
    with duckdb.connect(database, read_only=True) as connection:
        return {
            table: connection.execute(
                f"SELECT COLUMNS(*)::VARCHAR FROM {table} ORDER BY ALL"
            ).fetchall()
            for table in tables
        }


def scalar(database: Path, sql: str) -> object:
    """The first value of the answer."""
    with duckdb.connect(database, read_only=True) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]
