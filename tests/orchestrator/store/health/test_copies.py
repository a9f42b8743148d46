"""Copies of a database file, and one written anew."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.database.connect import size_of, wal_path
from orchestrator.store.health.copies import copy_database, vacuum
from orchestrator.store.query.ask import query
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import (
    content,
    done,
    everything,
    holding,
    killed,
    refused,
    schema_of,
    script,
    started,
)

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
        connection.execute("DELETE FROM benchmark_results WHERE batch_size = 8")
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


IMPORT = "from orchestrator.store.health.copies import vacuum"
VACUUM = script("print(vacuum(paths[0], 60).rewritten)", IMPORT)


@pytest.mark.slow
def test_free_space_is_given_back(roomy: Path) -> None:
    before, size = everything(roomy), size_of(roomy)
    sizes = vacuum(roomy)
    assert sizes.rewritten
    assert (sizes.bytes_before, sizes.bytes_after) == (size, size_of(roomy))
    assert size_of(roomy) < size / 2
    assert everything(roomy) == before
    assert {path.name for path in roomy.parent.iterdir()} == {
        "results",
        roomy.name,
        f"{roomy.name}.lock",
    }


@pytest.mark.slow
def test_what_was_written_anew_has_the_same_schema(roomy: Path) -> None:
    before = schema_of(roomy)
    assert vacuum(roomy).rewritten
    assert schema_of(roomy) == before
    for view in VIEWS:
        query(roomy, f"SELECT * FROM {view.name}")
    assert not vacuum(roomy).rewritten


def test_a_small_database_is_not_written_anew(two_runs: Path) -> None:
    inode = two_runs.stat().st_ino
    assert (vacuum(two_runs).rewritten, two_runs.stat().st_ino) == (False, inode)


def test_the_log_goes_into_the_file(two_runs: Path) -> None:
    held = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]);"
    held += "print('ready', flush=True); sys.stdin.readline();"
    held += "c.execute(\"UPDATE benchmark_results SET reason = 'left in the log'\"); os._exit(0)"
    done(held, two_runs)
    assert wal_path(two_runs).exists()
    vacuum(two_runs)
    assert not wal_path(two_runs).exists()
    assert scalar(two_runs, "SELECT DISTINCT reason FROM benchmark_results") == "left in the log"


@pytest.mark.slow
def test_a_reader_goes_on_while_it_is_written_anew(roomy: Path) -> None:
    before = everything(roomy)
    with started(VACUUM, roomy) as process:
        seen = [query(roomy, "SELECT count(*) AS n FROM benchmark_results", wait_s=30)]
        while process.poll() is None:
            seen.append(query(roomy, "SELECT count(*) AS n FROM benchmark_results", wait_s=30))
        assert process.communicate()[0] == "True\n"
    assert {answer["n"][0].as_py() for answer in seen} == {2}
    assert everything(roomy) == before


def _moments(path: Path) -> list[Callable[[], bool]]:
    unfinished = path.with_name(f".{path.name}.rewritten")
    inode, size = path.stat().st_ino, path.stat().st_size
    return [
        unfinished.exists,
        lambda: unfinished.exists() and unfinished.stat().st_size > 16_384,
        wal_path(unfinished).exists,
        lambda: path.stat().st_ino != inode,
        lambda: path.stat().st_size != size,
    ]


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize("moment", range(5))
def test_killed_while_it_is_written_anew_it_loses_nothing(roomy: Path, moment: int) -> None:
    before = everything(roomy)
    killed(VACUUM, roomy, when=_moments(roomy)[moment])
    assert everything(roomy) == before
    vacuum(roomy)
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))


@pytest.mark.slow
def test_a_full_disk_leaves_it_as_it_was(roomy: Path) -> None:
    before = everything(roomy)
    assert "nothing was" in done(refused("vacuum(paths[0])", IMPORT), roomy)
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))
    assert vacuum(roomy).rewritten
