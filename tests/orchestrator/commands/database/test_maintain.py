"""Old runs go from database and folder together, finished ones become compact, others stay."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from orchestrator.commands.database.maintain import Maintenance, MaintenanceReport, maintain_results
from orchestrator.commands.database.retention import RetentionPolicy, RunToDelete, runs_to_delete
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.running.execution import devices_of
from orchestrator.running.folder import RunFolder
from orchestrator.store.records.compact import compact_files
from orchestrator.store.store import Store
from orchestrator.system.locks import hold_devices
from runner.contract.errors import StoreError, UsageError
from runner.contract.record.files import to_table
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import after, everything, killed
from tests.support.records import a_record
from tests.support.runs import NOW, a_run_folder, finished
from tests.support.siblings import siblings

MAINTAIN = """
import sys
from pathlib import Path
from orchestrator.commands.database.maintain import maintain_results
from orchestrator.commands.database.retention import RetentionPolicy
results = Path(sys.argv[1])
policy = RetentionPolicy(keep=1)
print("ready", flush=True)
sys.stdin.readline()
maintain_results(
    results, results / "benchmarks.duckdb", policy, compacting=True)
"""


def to_delete(results: Path, **conditions: Any) -> list[RunToDelete]:
    policy = RetentionPolicy(**conditions)
    return runs_to_delete(results, results / "benchmarks.duckdb", policy)


def chosen(results: Path, **conditions: Any) -> list[str]:
    return [run.run_id for run in to_delete(results, **conditions)]


def maintained(
    results: Path, policy: RetentionPolicy | None = None, **options: bool
) -> MaintenanceReport:
    database = results / "benchmarks.duckdb"
    return maintain_results(results, database, policy or RetentionPolicy(), **options)


@pytest.mark.parametrize(
    ("conditions", "runs"),
    [
        ({"keep": 1}, "ba"),
        ({"keep": 0}, "cba"),
        ({"keep": 9}, ""),
        ({}, ""),
        ({"older_than_s": 86_400 * 1.5}, "a"),
        ({"older_than_s": 0}, "cba"),
        ({"older_than_s": 86_400 * 9, "named": ["b"]}, "b"),
    ],
)
def test_old_and_named_runs_are_chosen_and_the_newest_kept(
    finished_results: Path, conditions: dict[str, Any], runs: str
) -> None:
    assert chosen(finished_results, **conditions) == list(runs)


def test_an_unknown_run_is_told(finished_results: Path) -> None:
    with pytest.raises(UsageError, match="'nobody' is not a run in"):
        chosen(finished_results, named=["a", "nobody"])


def test_what_would_go_is_told_with_its_size(finished_results: Path) -> None:
    (run,) = to_delete(finished_results, named=["a"])
    assert (run.verdicts, run.path) == (3, finished_results / "a")
    files = (path for path in (finished_results / "a").rglob("*") if path.is_file())
    assert run.size_bytes == sum(path.stat().st_size for path in files)


def test_runs_that_the_database_or_the_folder_alone_knows_go_too(results: Path) -> None:
    finished(results, "never-merged", 5)
    (results / "a").rename(results.parent / "a")
    maintained(results, RetentionPolicy(keep=2))
    assert chosen(results, keep=0) == ["c", "b"]
    assert not (results / "never-merged").exists()
    assert (results.parent / "a").exists()


def test_a_run_goes_from_database_and_folder(results: Path) -> None:
    done = maintained(results, RetentionPolicy(keep=1))
    assert [run.run_id for run in done.runs] == ["b", "a"]
    assert sorted(path.name for path in results.iterdir()) == [
        "benchmarks.duckdb", "benchmarks.duckdb.lock", "c", "maintenance.lock"
    ]  # fmt: skip
    with Store.open_readonly(results / "benchmarks.duckdb") as store:
        assert [run.run_id for run in store.runs()] == ["c"]
    merge_paths([results], results / "benchmarks.duckdb", scratch=True)
    assert scalar(results / "benchmarks.duckdb", "SELECT count(*) FROM benchmark_results") == 3


def test_a_dry_run_writes_nothing(results: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    done = maintained(results, RetentionPolicy(keep=1), compacting=True, dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before
    assert done.tidied is None
    assert [run.run_id for run in done.compact] == ["c"]
    assert done.compact[0].compaction.files == 3


@pytest.fixture(scope="module")
def finished_bisections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "bisections"
    for age, run_id in ((1, "b-again"), (2, "a-again")):
        finished(folder, run_id, age, cells=1)
    merge_paths([folder], folder / "benchmarks.duckdb", scratch=True)
    return folder


@pytest.fixture
def bisected(results: Path, finished_bisections: Path) -> Path:
    shutil.copytree(finished_bisections, results / "bisections", symlinks=True)
    return results


def test_runs_of_bisections_are_counted(bisected: Path) -> None:
    kept = maintained(bisected, dry_run=True).bisections
    assert kept is not None
    assert (kept.runs, kept.size_bytes > 0) == (2, True)


@pytest.mark.parametrize(
    ("conditions", "runs"),
    [
        ({"keep": 1}, ["b", "a", "a-again"]),
        ({"older_than_s": 86_400 * 1.5}, ["a", "a-again"]),
        ({"named": ["b-again"]}, ["b-again"]),
    ],
)
def test_runs_of_bisections_are_chosen_likewise_and_counted_apart(
    bisected: Path, conditions: dict[str, Any], runs: list[str]
) -> None:
    to_go = to_delete(bisected, **conditions)
    assert [run.run_id for run in to_go] == runs
    assert all(run.bisection == run.run_id.endswith("-again") for run in to_go)


def test_runs_of_bisections_go_from_their_own_database_and_folder(bisected: Path) -> None:
    done = maintained(bisected, RetentionPolicy(named=["b-again"]))
    assert [(run.run_id, run.bisection) for run in done.runs] == [("b-again", True)]
    assert done.bisections is not None
    assert done.bisections.runs == 1
    folder = bisected / "bisections"
    assert not (folder / "b-again").exists()
    with Store.open_readonly(folder / "benchmarks.duckdb") as store:
        assert [run.run_id for run in store.runs()] == ["a-again"]
    assert chosen(bisected, keep=0) == ["c", "b", "a", "a-again"]


@pytest.mark.slow
def test_imports_go_only_where_they_are_named(results: Path) -> None:
    database, file = results / "benchmarks.duckdb", results / "imports" / "timm-1.parquet"
    file.parent.mkdir()
    table = to_table([a_record(run_id="timm-1", recorded_at=NOW - timedelta(days=999))])
    pq.write_table(table, file)
    merge_paths([file.parent], database, scratch=True)
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE benchmark_results SET source = 'timm' WHERE run_id = 'timm-1'")
    assert chosen(results, keep=0, older_than_s=0) == ["c", "b", "a"]
    maintained(results, RetentionPolicy(named=["timm-1"]))
    assert not file.exists()
    assert chosen(results, keep=0) == ["c", "b", "a"]


@pytest.mark.slow
def test_a_run_of_a_strange_name_leads_to_no_other_folder(results: Path) -> None:
    names = ["../outside", "/tmp", "..", ".hidden", "", "benchmarks.duckdb"]
    outside = finished(results.parent, "outside", 1)
    a_run_folder(results, run_id="shown").path.rename(results / ".hidden")
    for name in names:
        table = to_table([a_record(run_id=f"strange-{names.index(name)}")])
        pq.write_table(table, results.parent / f"{names.index(name)}.parquet")
    merge_paths(results.parent.glob("*.parquet"), results / "benchmarks.duckdb", scratch=True)
    with duckdb.connect(results / "benchmarks.duckdb") as connection:
        for table in ("benchmark_runs", "benchmark_results"):
            for number, name in enumerate(names):
                change = f"UPDATE {table} SET run_id = ? WHERE run_id = ?"
                connection.execute(change, [name, f"strange-{number}"])
    runs = to_delete(results, named=names)
    assert [run.path for run in runs] == [None] * len(names)
    assert len(list(Maintenance(results, results / "benchmarks.duckdb").drop(runs))) == len(names)
    assert outside.path.exists()
    assert (results / ".hidden").exists()


def test_a_link_to_a_run_goes_and_what_it_leads_to_stays(results: Path) -> None:
    elsewhere = results.parent / "a"
    (results / "a").rename(elsewhere)
    (results / "a").symlink_to(elsewhere)
    maintained(results, RetentionPolicy(named=["a"]))
    assert not (results / "a").is_symlink()
    assert (elsewhere / "run.json").exists()


@pytest.mark.slow
def test_finished_runs_become_compact(results: Path) -> None:
    before = everything(results / "benchmarks.duckdb")
    done = maintained(results, compacting=True)
    assert [run.run_id for run in done.compact] == ["a", "b", "c"]
    assert done.left == ()
    for name in "abc":
        assert len(compact_files(results / name / "records")) == 1
        assert len(RunFolder.open(results, name).verdicts()) == 3
    merge_paths([results], results / "benchmarks.duckdb", scratch=True)
    assert everything(results / "benchmarks.duckdb") == before
    again = maintained(results, compacting=True)
    assert (again.compact, again.left) == ((), ())


@pytest.mark.slow
def test_a_run_that_goes_on_stays(results: Path) -> None:
    finished(results, "d", 0, cells=2)
    done = maintained(results, compacting=True)
    assert [left.reason for left in done.left] == ["1 of 3 cells have no sound record yet"]
    assert compact_files(results / "d" / "records") == []


def test_while_a_device_is_measured_on_its_runs_stay(results: Path) -> None:
    devices = devices_of(RunFolder.open(results, "a"))
    files = sorted(results.rglob("*.parquet"))
    with hold_devices(devices, "run x", lambda *_: None):
        done = maintained(results, RetentionPolicy(named=["a"]), compacting=True)
    assert [left.run_id for left in done.left] == ["a", "a", "b", "c"]
    assert all("is held by run x, process" in left.reason for left in done.left)
    assert (done.runs, sorted(results.rglob("*.parquet"))) == ((), files)
    assert scalar(results / "benchmarks.duckdb", "SELECT count(*) FROM benchmark_results") == 9


@pytest.mark.slow
def test_a_damaged_plan_leaves_its_records_alone(results: Path) -> None:
    (results / "a" / "run.json").write_text("{")
    (left,) = maintained(results, compacting=True).left
    assert (left.run_id, "cannot be read" in left.reason) == ("a", True)
    maintained(results, RetentionPolicy(named=["a"]))
    assert not (results / "a").exists()


def test_one_maintenance_at_a_time(results: Path) -> None:
    lock = FileLock(results / "maintenance.lock")
    with lock, pytest.raises(StoreError, match="another maintenance is under way"):
        maintained(results)
    maintained(results)


def test_without_a_database_there_is_nothing_to_maintain(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet"):
        maintained(tmp_path)


def _moments(results: Path) -> list[Callable[[], bool]]:
    return [
        lambda: any(results.glob(".*.dropped")),
        lambda: not (results / "a").exists(),
        lambda: not any((results / name).exists() for name in "ab"),
        lambda: any(results.glob("*/records/.compact-*")),
        lambda: any(results.glob("*/records/compact-*")),
        after(0.1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("moment", siblings(range(6), keep=[3]))
def test_killed_at_any_moment_it_can_be_finished(results: Path, moment: int) -> None:
    database = results / "benchmarks.duckdb"
    kept = "SELECT count(*) FROM benchmark_results WHERE run_id = 'c'"
    killed(MAINTAIN, results, when=_moments(results)[moment])
    assert scalar(database, kept) == 3
    for run_id in "ab":
        sql = f"SELECT count(*) FROM benchmark_results WHERE run_id = '{run_id}'"
        found = scalar(database, sql)
        assert found in {0, 3}
        assert found == 0 or (results / run_id / "run.json").exists()
    maintained(results, RetentionPolicy(keep=1), compacting=True)
    assert chosen(results, keep=0) == ["c"]
    assert not list(results.glob(".*"))
    (file,) = results.rglob("*.parquet")
    assert file.parent == results / "c" / "records"
    merge_paths([results], database, scratch=True)
    assert scalar(database, "SELECT count(*) FROM benchmark_results") == 3
