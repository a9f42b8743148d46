"""Files and databases for the store's tests, and Ctrl-C."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import duckdb
import pytest

from orchestrator.store.schema.tables import TABLES, VERSION
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from runner.contract.record.record import Record

Save = Callable[..., Path]
PAUSE_S = 0.2


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


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("opened") / "benchmarks.duckdb") as store:
        yield store


@pytest.fixture
def store(opened: Store) -> Store:
    """A database without rows, open for writing: the same for all tests of a file."""
    tables = [table.name for table in TABLES if table is not VERSION]
    delete = "; ".join(f"DELETE FROM {name}" for name in tables)
    opened._connection.execute(f"BEGIN; {delete}; COMMIT")
    return opened


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's own may not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Press it in a moment; this process hears it even as a job in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: Timer(PAUSE_S, os.kill, (os.getpid(), signal.SIGINT)).start()
    signal.signal(signal.SIGINT, before)


def scalar(database: Path | Store, sql: str) -> object:
    if isinstance(database, Store):
        row = database._connection.execute(sql).fetchone()
    else:
        with duckdb.connect(database, read_only=True) as connection:
            row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]
