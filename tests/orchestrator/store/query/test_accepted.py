"""Known steps are recorded, changed and taken back, and stay in the database they were told."""

import shutil
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.database.connect import writer_lock
from orchestrator.store.health.decisions import (
    KnownStep,
    accept_changes,
    drop_runs,
    withdraw_changes,
)
from orchestrator.store.health.fix import fix_database, validate_database
from orchestrator.store.health.snapshots import restore_snapshot, take_snapshot
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.records import RECORDED_AT, a_record

LATER = RECORDED_AT + timedelta(hours=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of two cells, of which one cell of `new` is accepted; nobody changes it."""
    folder = tmp_path_factory.mktemp("accepted")
    for run_id in ("old", "new"):
        for batch_size in (1, 2):
            save_record(a_record(run_id=run_id, batch_size=batch_size), folder)
        path = folder / "benchmarks.duckdb"
        with Store.open(path) as store:
            store.merge([folder])
    accept(path, "new", cells(path)[:1], "a new compiler")
    return path


@pytest.fixture
def database(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def cells(database: Path) -> list[str]:
    sql = "SELECT DISTINCT cell_id FROM benchmark_results ORDER BY cell_id"
    return list(query(database, sql)["cell_id"].to_pylist())


def accept(database: Path, run_id: str, cell_ids: list[str], because: str) -> tuple[str, ...]:
    return accept_changes(database, KnownStep(run_id, tuple(cell_ids), because, LATER, "somebody"))


def accepted(database: Path) -> dict[str, str]:
    rows = query(database, "SELECT result_id, because FROM accepted_changes ORDER BY ALL")
    return {row["result_id"]: row["because"] for row in rows.to_pylist()}


def test_a_row_tells_which_result_why_when_and_who(database: Path) -> None:
    (row,) = query(database, "FROM accepted_changes").to_pylist()
    cell_id = cells(database)[0]
    assert row == {
        "result_id": f"new/{cell_id}",
        "run_id": "new",
        "cell_id": cell_id,
        "because": "a new compiler",
        "accepted_at": LATER,
        "accepted_by": "somebody",
    }


def test_accepting_again_changes_the_reason(database: Path) -> None:
    first, second = cells(database)
    assert accept(database, "new", [first, second], "a newer compiler") == (first,)
    assert accepted(database) == dict.fromkeys(
        [f"new/{first}", f"new/{second}"], "a newer compiler"
    )


def test_what_was_accepted_is_taken_back_by_cell_or_by_run(database: Path) -> None:
    first, second = cells(database)
    assert withdraw_changes(database, "new", [second]) == ()
    assert withdraw_changes(database, "old") == ()
    assert accepted(database) == {f"new/{first}": "a new compiler"}
    accept(database, "new", [second], "the same")
    assert withdraw_changes(database, "new", [second]) == (second,)
    assert withdraw_changes(database, "new") == (first,)
    assert accepted(database) == {}


def test_a_run_that_is_dropped_takes_it_along(database: Path) -> None:
    accept(database, "old", cells(database), "known")
    with writer_lock(database, 0):
        drop_runs(database, ["new"])
    assert {name.partition("/")[0] for name in accepted(database)} == {"old"}


def test_a_snapshot_brings_it_back(database: Path, tmp_path: Path) -> None:
    take_snapshot(database, tmp_path / "snapshots", "before", None)
    withdraw_changes(database, "new")
    restore_snapshot(database, tmp_path / "snapshots", "before", None)
    assert list(accepted(database).values()) == ["a new compiler"]


@pytest.mark.slow
def test_it_goes_into_no_other_database(database: Path, tmp_path: Path) -> None:
    """Who merges others' results judges them by steps of their own."""
    lab = tmp_path / "lab.duckdb"
    bundle = tmp_path / "bundle.zip"
    write_bundle(database, (), bundle, force=False)
    assert merge_paths([bundle], lab, scratch=False).inserted == 4
    assert accepted(lab) == {}
    accept(lab, "old", cells(lab), "ours")
    merge_paths([database], lab, scratch=False)
    assert set(accepted(lab).values()) == {"ours"}


def test_a_newer_record_of_the_cell_leaves_it(database: Path, tmp_path: Path) -> None:
    path = save_record(a_record(run_id="new", recorded_at=LATER), tmp_path)
    with Store.open(database) as store:
        assert store.merge([path]).replaced == 1
    assert len(accepted(database)) == 1


@pytest.mark.slow
def test_one_without_its_result_is_an_error_that_quarantine_mends(database: Path) -> None:
    check = "accepted change without a result"
    assert check not in validate_database(database).errors
    with duckdb.connect(database) as connection:
        connection.execute("DELETE FROM benchmark_results WHERE run_id = 'new'")
    assert check in validate_database(database).errors
    assert check not in fix_database(database, None).errors
    assert accepted(database) == {}
    sql = "SELECT content FROM quarantine WHERE table_name = 'accepted_changes'"
    assert "a new compiler" in query(database, sql)["content"][0].as_py()
