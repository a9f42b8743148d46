"""Files and databases for the store's tests."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from runner.contract.record import Record, save_record
from tests.support.databases import unpacked

Save = Callable[..., Path]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "benchmarks.duckdb"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir(exist_ok=True)
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
def older(tmp_path: Path) -> Path:
    """A database as schema 4 left it."""
    return unpacked("benchmarks.duckdb", tmp_path)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's own may not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def scalar(database: Path, sql: str) -> object:
    """The first value of the answer."""
    with duckdb.connect(database, read_only=True) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]
