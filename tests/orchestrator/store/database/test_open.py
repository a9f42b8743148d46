"""Databases of another schema are refused and left alone; the hint says what helps."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.health.copies import vacuum
from orchestrator.store.health.decisions import dated_runs, drop_runs
from orchestrator.store.health.snapshots import restore_snapshot, take_snapshot
from orchestrator.store.query.ask import query
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from runner.contract.errors import StoreError

WORKS: dict[str, Callable[[Path], object]] = {
    "write": Store.open,
    "read": Store.open_readonly,
    "tidy": vacuum,
    "list": dated_runs,
    "query": lambda path: query(path, "SELECT 1"),
    "drop": lambda path: drop_runs(path, ["run-1"]),
}


def of_schema(database: Path, version: int) -> Path:
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE schema_version SET version = ?", [version])
        connection.execute("ALTER TABLE benchmark_results ADD COLUMN unheard_of BIGINT")
    Path(f"{database}.lock").unlink()
    return database


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        (STORE_VERSION + 1, "install the AccelMatrix that wrote it"),
        (STORE_VERSION - 1, "`orchestrator database rebuild --results {folder}` makes it anew"),
    ],
    ids=["newer", "older"],
)
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_another_schema_is_refused_and_left_alone(
    database: Path, version: int, hint: str, work: Callable[[Path], object]
) -> None:
    before = of_schema(database, version).read_bytes()
    with pytest.raises(StoreError, match=f"has schema {version}, and this") as caught:
        work(database)
    assert hint.format(folder=database.parent) in str(caught.value.hint)
    assert database.read_bytes() == before
    names = {database.name, f"{database.name}.lock"}
    assert {path.name for path in database.parent.iterdir()} <= names


def test_it_can_be_kept_and_is_not_restored(database: Path, tmp_path: Path) -> None:
    root = tmp_path / "snapshots"
    snapshot = take_snapshot(of_schema(database, STORE_VERSION - 1), root, "theirs", None)
    for work in (
        lambda: restore_snapshot(database, root, "theirs", None),
        lambda: query(snapshot.database, "SELECT 1"),
    ):
        with pytest.raises(StoreError, match="has schema") as caught:
            work()
        assert caught.value.hint == "install the AccelMatrix that wrote it"


def test_altered_tables_are_made_anew(database: Path) -> None:
    of_schema(database, STORE_VERSION)
    with pytest.raises(StoreError, match="table benchmark_results does not have") as caught:
        Store.open(database)
    assert "orchestrator database rebuild" in str(caught.value.hint)
