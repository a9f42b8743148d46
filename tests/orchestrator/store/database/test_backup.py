"""A copy of a database is whole, or there is none."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.database.connect import wal_path
from orchestrator.store.health.copies import copy_database
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.databases import content, done, holding, refused
from tests.support.records import a_record

DIE = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("SET checkpoint_threshold = '1GB'")
connection.execute("UPDATE benchmark_results SET hostname = 'in the log alone'")
os._exit(9)
"""
COPY_TO_A_FULL_DISK = refused(
    "copy_database(paths[0], paths[1], 1)",
    "from orchestrator.store.health.copies import copy_database",
)


@pytest.fixture
def filled(database: Path, results: Path, save: Save) -> Path:
    save(a_record(), a_record(batch_size=2))
    with Store.open(database) as store:
        store.merge([results])
    return database


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "copy.duckdb"


def test_a_copy_holds_the_same_and_nothing_else_is_left(filled: Path, target: Path) -> None:
    copy_database(filled, target, wait_s=1)
    assert content(target) == content(filled)
    assert [path.name for path in target.parent.iterdir()] == ["copy.duckdb"]
    Store.open(filled, wait_s=0).close()


def test_what_a_killed_writer_left_in_the_log_is_copied(filled: Path, target: Path) -> None:
    subprocess.run([sys.executable, "-c", DIE, str(filled)], check=False)
    assert wal_path(filled).exists()
    copy_database(filled, target, wait_s=1)
    for path in (filled, target):
        assert not wal_path(path).exists()
        assert scalar(path, "SELECT DISTINCT hostname FROM benchmark_results") == "in the log alone"


def test_an_older_copy_is_replaced(filled: Path, target: Path) -> None:
    copy_database(filled, target, wait_s=1)
    with duckdb.connect(filled) as connection:
        connection.execute("DELETE FROM benchmark_results WHERE batch_size = 2")
    copy_database(filled, target, wait_s=1)
    assert scalar(target, "SELECT count(*) FROM benchmark_results") == 1


def test_a_target_with_a_log_of_its_own_is_left_alone(filled: Path, target: Path) -> None:
    copy_database(filled, target, wait_s=1)
    subprocess.run([sys.executable, "-c", DIE, str(target)], check=False)
    before = target.read_bytes()
    with pytest.raises(StoreError, match="has a log of changes"):
        copy_database(filled, target, wait_s=1)
    assert target.read_bytes() == before
    assert wal_path(target).exists()


def test_a_database_in_use_is_not_copied(filled: Path, target: Path) -> None:
    with holding(filled), pytest.raises(StoreError, match="still in use"):
        copy_database(filled, target, wait_s=0.1)
    assert not target.exists()


def test_a_full_disk_leaves_no_half_copy(filled: Path, target: Path) -> None:
    output = done(COPY_TO_A_FULL_DISK, filled, target)
    assert "cannot be copied" in output
    assert "free some space on its disk" in output
    assert list(target.parent.iterdir()) == []
    assert scalar(filled, "SELECT count(*) FROM benchmark_results") == 2


def test_what_is_no_database_is_not_copied(database: Path, target: Path) -> None:
    database.write_bytes(b"not a database")
    with pytest.raises(StoreError, match="not a database"):
        copy_database(database, target, wait_s=0)
    assert not target.exists()
