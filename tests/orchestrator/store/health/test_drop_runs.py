"""Runs leave a database with all that they alone used, and nothing else changes."""

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.database.connect import writer_lock
from orchestrator.store.health.decisions import dated_runs
from orchestrator.store.health.decisions import drop_runs as drop_locked
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import after, everything, killed, script, time_of
from tests.support.records import RECORDED_AT

DROP = script(
    "with writer_lock(paths[0], 60):\n    drop_runs(paths[0], arguments[1:], 60)",
    "from orchestrator.store.database.connect import writer_lock\n"
    "from orchestrator.store.health.decisions import drop_runs",
)


def test_runs_are_listed_with_what_they_hold(two_runs: Path) -> None:
    newest, oldest = dated_runs(two_runs)
    assert (newest.run_id, newest.verdicts, newest.imported) == ("new", 1, False)
    assert newest.started_at == RECORDED_AT + timedelta(hours=8)
    assert (oldest.run_id, oldest.verdicts) == ("old", 3)
    assert oldest.started_at == RECORDED_AT


def test_imports_are_told_apart(two_runs: Path) -> None:
    with duckdb.connect(two_runs) as connection:
        connection.execute("UPDATE benchmark_results SET source = 'timm' WHERE run_id = 'old'")
        connection.execute(
            "INSERT INTO benchmark_runs BY NAME SELECT 'empty' AS run_id, now() AS started_at,"
            " ['import'] AS launchers, true AS described"
        )
    assert [run.run_id for run in dated_runs(two_runs) if run.imported] == ["empty", "old"]


def test_a_run_goes_with_all_that_only_it_used(two_runs: Path, results: Path) -> None:
    drop_runs(two_runs, ["old"])
    left = {table: len(rows) for table, rows in everything(two_runs).items()}
    assert left == {
        "accepted_changes": 0,
        "artefacts": 1,
        "benchmark_results": 1,
        "benchmark_runs": 1,
        "environments": 1,
        "hardware_info": 1,
        "models": 1,
        "quarantine": 0,
        "raw_benchmark_data": 1,
        "replay_jobs": 1,
        "schema_version": 1,
    }
    assert scalar(two_runs, "SELECT kind FROM artefacts") == "image"
    assert (
        query(
            two_runs,
            "SELECT hostname, kernel FROM benchmark_results"
            " JOIN environments USING (environment_id)",
        ).num_rows
        == 1
    )


def test_what_quarantine_holds_of_a_run_goes_with_it(two_runs: Path) -> None:
    with duckdb.connect(two_runs) as connection:
        connection.execute(
            "INSERT INTO quarantine SELECT 'a', r, 'benchmark_results', 'odd', now(), now(), '{}'"
            " FROM unnest(['old', 'new']) runs(r)"
        )
    drop_runs(two_runs, ["old"])
    assert scalar(two_runs, "SELECT list(run_id) FROM quarantine") == ["new"]


def test_dropping_nothing_or_nobody_changes_nothing(two_runs: Path) -> None:
    before = everything(two_runs)
    drop_runs(two_runs, [])
    drop_runs(two_runs, ["nobody"])
    assert everything(two_runs) == before


def test_a_dropped_run_comes_back_with_its_records(two_runs: Path, results: Path) -> None:
    drop_runs(two_runs, ["old"])
    with Store.open(two_runs) as store:
        report = store.merge([results])
    assert (report.inserted, report.unchanged) == (3, 1)
    assert scalar(two_runs, "SELECT count(*) FROM models") == 2


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize("moment", range(4))
def test_a_killed_drop_is_all_or_nothing(two_runs: Path, moment: int) -> None:
    whole = everything(two_runs)
    usual_s = time_of(DROP, two_runs, "nobody")
    killed(DROP, two_runs, "old", when=after(usual_s * moment / 4))
    left = everything(two_runs)
    assert left == whole or len(left["benchmark_results"]) == len(left["raw_benchmark_data"]) == 1
    drop_runs(two_runs, ["old"])
    assert len(everything(two_runs)["benchmark_results"]) == 1


def test_without_a_database_it_says_so(database: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet"):
        dated_runs(database)


def drop_runs(database: Path, run_ids: list[str]) -> None:
    with writer_lock(database, 0):
        drop_locked(database, run_ids)
