"""`kill -9` at each moment of a merge: the same merge again leaves what one merge would have."""

import shutil
from pathlib import Path

import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.system.files import DATABASE_NAME
from tests.faults.place import FailingPlace
from tests.faults.table import table
from tests.support.databases import Rows, content
from tests.support.failpoints import Failpoint, kill
from tests.support.nothing_left import held_locks, processes_of, unfinished_files
from tests.support.runs import finished

pytestmark = pytest.mark.serial

CONNECTION = "duckdb:DuckDBPyConnection"
STATEMENT = f"{CONNECTION}.execute"
LOCK = "filelock:BaseFileLock"
NEW = {
    "before the database is locked": kill("before", f"{LOCK}.acquire", "*.duckdb.lock"),
    "after the database is locked": kill("after", f"{LOCK}.acquire", "*.duckdb.lock"),
    "while the tables are made": kill("after", STATEMENT, "CREATE TABLE*", nth=3),
    "before the new database gets its name": kill("before", "os:replace", "*.duckdb.new"),
    "after the new database got its name": kill("after", "os:replace", "*.duckdb.new"),
    "when the records are read": kill("after", "orchestrator.store.merge.merge:stage"),
    "before it begins": kill("before", f"{CONNECTION}.begin", nth=2),
    "after it began": kill("after", f"{CONNECTION}.begin", nth=2),
    "after the results": kill("after", STATEMENT, "INSERT INTO benchmark_results*"),
    "after the raw durations": kill("after", STATEMENT, "INSERT INTO raw_benchmark_data*"),
    "after the jobs": kill("after", STATEMENT, "INSERT INTO replay_jobs*"),
    "before the commit": kill("before", f"{CONNECTION}.commit", nth=2),
    "after the commit": kill("after", f"{CONNECTION}.commit", nth=2),
    "after the second run's results": kill("after", STATEMENT, "INSERT INTO benchmark_results*", 2),
    "before a damaged record is set aside": kill("before", "os:replace", "*.damaged"),
    "after a damaged record is set aside": kill("after", "os:replace", "*.damaged"),
    "before the verdict that stands for it": kill("before", "os:replace", "*.parquet.tmp"),
    "after the verdict that stands for it": kill("after", "os:replace", "*.parquet.tmp"),
    "before the file is closed": kill("before", f"{CONNECTION}.close"),
    "before the lock is released": kill("before", f"{LOCK}.release", "*.duckdb.lock"),
}
BUNDLES = {
    "when a bundle is checked": kill(
        "after", "orchestrator.exchange.bundles.check:Bundle.require_sound"
    ),
    "before a bundle's commit": kill("before", f"{CONNECTION}.commit", nth=2),
}


@pytest.fixture
def results(place: FailingPlace) -> Path:
    """Two finished runs, of which the second has a damaged record."""
    folder = place.folder / "results"
    for age, run_id in enumerate(("b", "a")):
        finished(folder, run_id, age)
    victim = min(folder.glob("b/records/*/*.parquet"))
    victim.write_bytes(victim.read_bytes()[:200])
    return folder


@table(NEW, "after the second run's results")
def test_a_killed_merge_is_repeated(place: FailingPlace, results: Path, moment: Failpoint) -> None:
    whole = merged_without_a_fault(results)
    place.kill_at(moment, "merge", "results", "--scratch")
    merge_again(place, "results", "--scratch")
    assert content(results / DATABASE_NAME) == whole


@table(BUNDLES)
def test_a_killed_merge_of_a_bundle_is_repeated(
    place: FailingPlace, results: Path, moment: Failpoint
) -> None:
    whole = merged_without_a_fault(results)
    merge_paths([results], results / DATABASE_NAME, scratch=True)
    write_bundle(results / DATABASE_NAME, [], place.folder / "runs.zip", force=False)
    shutil.rmtree(results)
    place.kill_at(moment, "merge", "runs.zip", "--scratch")
    merge_again(place, "runs.zip", "--scratch")
    tables = ("benchmark_results", "raw_benchmark_data", "replay_jobs")
    stored = content(results / DATABASE_NAME)
    assert {name: stored[name] for name in tables} == {name: whole[name] for name in tables}


def merged_without_a_fault(results: Path, name: str = "") -> dict[str, Rows]:
    """The database that the same merge makes of a copy if nothing happens."""
    copy = results.parent / "copy" / results.name
    shutil.copytree(results, copy)
    merge_paths([copy / name], copy / DATABASE_NAME, scratch=not name)
    whole = content(copy / DATABASE_NAME)
    shutil.rmtree(copy)
    return whole


def merge_again(place: FailingPlace, *arguments: str) -> None:
    """Merge once more; nothing of the merge that was killed is left."""
    done = place.do("merge", *arguments)
    assert done.returncode in {0, 6}, done.stderr
    assert place.do("merge", *arguments).stdout.startswith("0 inserted, 0 replaced")
    assert unfinished_files(place.folder) == []
    assert processes_of(place.folder) == []
    assert held_locks(place) == []
