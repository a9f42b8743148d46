"""A database gives back its free space and drops runs, and nothing else changes."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.errors import StoreError
from orchestrator.store import Run, Store, query
from orchestrator.store.file.connect import log_of, writer_lock
from orchestrator.store.health.maintain import drop_runs as drop_locked
from orchestrator.store.health.maintain import size_of, stored_runs, tidy
from orchestrator.store.schema.views import VIEWS
from tests.orchestrator.store.conftest import Save, scalar
from tests.orchestrator.store.whole import (
    after,
    done,
    everything,
    killed,
    schema_of,
    started,
)
from tests.records import RECORDED_AT, a_failure, a_record

BULK_ROWS = 60_000
TIDY = """
import sys
from pathlib import Path
from orchestrator.errors import StoreError
from orchestrator.store.health.maintain import tidy
print("ready", flush=True)
sys.stdin.readline()
print(tidy(Path(sys.argv[1]), 60).rewritten)
"""
DROP = """
import sys
from pathlib import Path
from orchestrator.store.file.connect import writer_lock
from orchestrator.store.health.maintain import drop_runs
print("ready", flush=True)
sys.stdin.readline()
with writer_lock(Path(sys.argv[1]), 60):
    drop_runs(Path(sys.argv[1]), sys.argv[2:], 60)
print("dropped")
"""
FULL_DISK = """
import resource, sys
from pathlib import Path
from orchestrator.errors import StoreError
from orchestrator.store.health.maintain import tidy
print("ready", flush=True)
sys.stdin.readline()
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    tidy(Path(sys.argv[1]))
except StoreError as error:
    print(error, "|", error.hint)
"""


@pytest.fixture
def two_runs(database: Path, save: Save, results: Path) -> Path:
    """One run on a machine of its own with a model of its own, one that shares its image."""
    image = {"image": "an-image:1", "image_digest": "sha256:aa", "launcher": "docker"}
    save(
        a_record(run_id="old", model="gpt2", model_id="b" * 16, hardware_id="c" * 16, **image),
        a_record(run_id="old", environment_id="e" * 16, graph_sha256="sha256:bb"),
        a_failure("lost", "gone", run_id="old", batch_size=2),
        a_record(run_id="new", recorded_at=RECORDED_AT + timedelta(days=9), **image),
    )
    with Store.open(database) as store:
        store.merge([results], Run(run_id="new", started_at=RECORDED_AT + timedelta(days=8)))
    return database


@pytest.fixture
def roomy(database: Path, results: Path, save: Save) -> Path:
    """A database most of which is free: many rows were dropped from it."""
    save(a_record(run_id="kept"), a_record(run_id="bulk", batch_size=2))
    with Store.open(database) as store:
        store.merge([results])
    with duckdb.connect(database) as connection:
        connection.execute(
            "INSERT INTO raw_benchmark_data BY NAME SELECT 'bulk/' || i AS result_id,"
            f" [hash(i, j) % 1000000007 FOR j IN range(50)]::BIGINT[] AS durations_ns"
            f" FROM range({BULK_ROWS}) rows(i)"
        )
        connection.execute("CHECKPOINT")
        connection.execute("DELETE FROM raw_benchmark_data WHERE starts_with(result_id, 'bulk/')")
    return database


def test_runs_are_listed_with_what_they_hold(two_runs: Path) -> None:
    newest, oldest = stored_runs(two_runs)
    assert (newest.run_id, newest.verdicts, newest.imported) == ("new", 1, False)
    assert newest.started_at == RECORDED_AT + timedelta(days=8)
    assert (oldest.run_id, oldest.verdicts) == ("old", 3)
    assert oldest.started_at == RECORDED_AT


def test_imports_are_told_apart(two_runs: Path) -> None:
    with duckdb.connect(two_runs) as connection:
        connection.execute("UPDATE benchmark_results SET source = 'timm' WHERE run_id = 'old'")
        connection.execute(
            "INSERT INTO benchmark_runs BY NAME SELECT 'empty' AS run_id, now() AS started_at,"
            " ['import'] AS launchers, true AS described"
        )
    assert [run.run_id for run in stored_runs(two_runs) if run.imported] == ["empty", "old"]


def test_a_run_goes_with_all_that_only_it_used(two_runs: Path, results: Path) -> None:
    drop_runs(two_runs, ["old"])
    left = {table: len(rows) for table, rows in everything(two_runs).items()}
    assert left == {
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


@pytest.mark.parametrize("moment", range(4))
def test_a_killed_drop_is_all_or_nothing(two_runs: Path, moment: int) -> None:
    whole = everything(two_runs)
    with started(DROP, two_runs, "nobody") as process:
        began = time.monotonic()
        process.communicate()
    usual_s = time.monotonic() - began
    killed(DROP, two_runs, "old", when=after(usual_s * moment / 4))
    left = everything(two_runs)
    assert left == whole or len(left["benchmark_results"]) == len(left["raw_benchmark_data"]) == 1
    assert done(DROP, two_runs, "old") == "dropped\n"
    assert len(everything(two_runs)["benchmark_results"]) == 1


def test_free_space_is_given_back(roomy: Path) -> None:
    before, size = everything(roomy), size_of(roomy)
    tidied = tidy(roomy)
    assert tidied.rewritten
    assert (tidied.bytes_before, tidied.bytes_after) == (size, size_of(roomy))
    assert size_of(roomy) < size / 2
    assert everything(roomy) == before
    assert {path.name for path in roomy.parent.iterdir()} == {
        "results",
        roomy.name,
        f"{roomy.name}.lock",
    }


def test_what_was_written_anew_has_the_same_schema(roomy: Path) -> None:
    before = schema_of(roomy)
    assert tidy(roomy).rewritten
    assert schema_of(roomy) == before
    for view in VIEWS:
        query(roomy, f"SELECT * FROM {view.name}")
    assert not tidy(roomy).rewritten


def test_it_takes_records_as_before(roomy: Path, results: Path, save: Save) -> None:
    tidy(roomy)
    later = RECORDED_AT + timedelta(hours=1)
    save(a_record(run_id="kept", recorded_at=later), a_record(run_id="more"))
    with Store.open(roomy) as store:
        report = store.merge([results])
    assert (report.inserted, report.replaced) == (1, 1)


def test_a_small_database_is_not_written_anew(two_runs: Path) -> None:
    inode = two_runs.stat().st_ino
    tidied = tidy(two_runs)
    assert (tidied.rewritten, two_runs.stat().st_ino) == (False, inode)


def test_the_log_goes_into_the_file(two_runs: Path) -> None:
    held = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]);"
    held += "print('ready', flush=True); sys.stdin.readline();"
    held += "c.execute(\"UPDATE benchmark_results SET reason = 'left in the log'\"); os._exit(0)"
    done(held, two_runs)
    assert log_of(two_runs).exists()
    tidy(two_runs)
    assert not log_of(two_runs).exists()
    assert scalar(two_runs, "SELECT DISTINCT reason FROM benchmark_results") == "left in the log"


def test_a_link_stays_one(roomy: Path, tmp_path: Path) -> None:
    link = tmp_path / "results" / "link.duckdb"
    link.symlink_to(roomy)
    assert tidy(link).rewritten
    assert link.is_symlink()
    assert scalar(roomy, "SELECT count(*) FROM benchmark_results") == 2


def test_a_reader_goes_on_while_it_is_written_anew(roomy: Path) -> None:
    before = everything(roomy)
    with started(TIDY, roomy) as process:
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
        log_of(unfinished).exists,
        lambda: path.stat().st_ino != inode,
        lambda: path.stat().st_size != size,
    ]


@pytest.mark.parametrize("moment", range(5))
def test_killed_while_it_is_written_anew_it_loses_nothing(roomy: Path, moment: int) -> None:
    before = everything(roomy)
    killed(TIDY, roomy, when=_moments(roomy)[moment])
    assert everything(roomy) == before
    tidy(roomy)
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))


def test_a_full_disk_leaves_it_as_it_was(roomy: Path) -> None:
    before = everything(roomy)
    said = done(FULL_DISK, roomy)
    assert "nothing was" in said
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))
    assert tidy(roomy).rewritten


def test_without_a_database_it_says_so(database: Path) -> None:
    for work in (tidy, stored_runs):
        with pytest.raises(StoreError, match="there is no database yet"):
            work(database)


def drop_runs(database: Path, run_ids: list[str]) -> None:
    with writer_lock(database, 0):
        drop_locked(database, run_ids)


def test_a_writer_is_waited_for(two_runs: Path) -> None:
    with Store.open(two_runs), pytest.raises(StoreError, match="still in use"):
        tidy(two_runs, 0)
