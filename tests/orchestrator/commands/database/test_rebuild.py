"""A database made anew from files holds every row of every table that the former one held."""

import shutil
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.commands.database.maintain import maintain_results
from orchestrator.commands.database.rebuild import rebuild_database, restore_database
from orchestrator.commands.database.retention import RetentionPolicy
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.health.decisions import KnownStep, accept_changes
from orchestrator.store.health.fix import fix_database
from orchestrator.store.health.snapshots import take_snapshot
from orchestrator.store.records.kept import kept_files, kept_folder
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, StoreError
from runner.contract.record.files import save_record
from tests.orchestrator.exchange.imports.files import Place, write
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT
from tests.support.databases import content, write_records
from tests.support.records import RECORDED_AT, a_record
from tests.support.runs import NOW, finished

LATER = RECORDED_AT + timedelta(hours=1)


def execute(database: Path, *statements: str) -> None:
    with duckdb.connect(database) as connection:
        for statement in statements:
            connection.execute(statement)


def ids(database: Path) -> set[str]:
    return {str(result_id) for result_id, *_ in rows(database, "result_id")}


def rows(database: Path, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect(database, read_only=True) as connection:
        sql = f"SELECT {columns} FROM benchmark_results ORDER BY ALL"
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real database with imports, records from elsewhere that partly contradict it, a known step
    and a row in quarantine.
    """
    folder = tmp_path_factory.mktemp("made")
    place = Place(folder / "lab")
    for number in range(2):
        write(place.sources / f"direct{number}.json", DIRECT | {"model": f"model-{number}"})
    place.import_files()
    (theirs := folder / "theirs").mkdir()
    shared = (a_record(run_id="shared", batch_size=size) for size in (1, 2))
    database = write_records(theirs, [*shared, a_record(run_id="b", weights_revision="c0ffee")])
    write_bundle(database, (), folder / "theirs.zip", force=False)
    merge_paths([folder / "theirs.zip"], place.database, scratch=False)
    (loose := folder / "loose").mkdir()
    for record in (
        a_record(run_id="shared", batch_size=2, recorded_at=LATER, hostname="contradicts"),
        a_record(run_id="loose", batch_size=4, kernel="another"),
    ):
        save_record(record, loose)
    assert len(merge_paths([loose], place.database, scratch=False).contradicted) == 1
    assert fix_database(place.database, place.results).quarantined == 1  # one measurement, two runs
    cell_id = record.cell_id
    accept_changes(place.database, KnownStep("loose", (cell_id,), "größer", NOW, "somebody"))
    return folder


@pytest.fixture
def lab(made: Path, tmp_path: Path) -> Place:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path / "lab")


@pytest.fixture
def runs(results: Path) -> Path:
    database = results / "benchmarks.duckdb"
    finished(results.parent / "elsewhere", "theirs", 4)
    merge_paths([results.parent / "elsewhere"], database, scratch=True)
    cells = tuple(str(cell) for (cell,) in rows(database, "DISTINCT cell_id"))
    accept_changes(database, KnownStep("a", cells[:1], "größer; a new compiler", NOW, None))
    return database


@pytest.mark.slow
def test_nothing_is_lost_of_imports_and_merges(lab: Place) -> None:
    before = content(lab.database)
    assert all(before.values())
    lab.database.unlink()
    rebuilt = rebuild_database(lab.results, lab.database)
    assert content(lab.database) == before
    assert rebuilt.sound.is_complete
    assert rebuild_database(lab.results, lab.database).takeover.lost == 0
    assert content(lab.database) == before
    assert not list(lab.results.glob(".*"))


@pytest.mark.slow
def test_nothing_is_lost_of_runs(runs: Path) -> None:
    before = content(runs)
    rebuild_database(runs.parent, runs)
    assert content(runs) == before
    with Store.open_readonly(runs) as store:
        assert store.scratch


@pytest.mark.slow
def test_merging_again_keeps_nothing_twice(lab: Place, tmp_path: Path) -> None:
    files = kept_files(lab.database)
    for path in (tmp_path / "theirs.zip", tmp_path / "loose", lab.results):
        merge_paths([path], lab.database, scratch=False)
    assert kept_files(lab.database) == files


@pytest.mark.slow
def test_a_bundle_and_an_end_that_came_later_are_kept(lab: Place, tmp_path: Path) -> None:
    bundle, other = tmp_path / "all.zip", tmp_path / "other" / "b.duckdb"
    write_bundle(lab.database, (), bundle, force=False)
    merge_paths([bundle], other, scratch=False)
    before = content(other)
    rebuild_database(other.parent, other)
    assert content(other) == before
    assert len(kept_files(other)) == 1


@pytest.mark.representatives(3)
@pytest.mark.slow
@pytest.mark.parametrize("which", ["b", "theirs", "import", "loose"])
def test_dropped_runs_do_not_come_back(which: str, request: pytest.FixtureRequest) -> None:
    run_id = which
    if which in {"import", "loose"}:
        lab: Place = request.getfixturevalue("lab")
        folder, database = lab.results, lab.database
        if which == "import":
            run_id = lab.files()[0].stem
    else:
        database = request.getfixturevalue("runs")
        folder = database.parent
    maintain_results(folder, database, RetentionPolicy(named=[run_id]))
    before = content(database)
    rebuild_database(folder, database)
    assert content(database) == before
    assert not any(name.startswith(f"{run_id}/") for name in ids(database))


@pytest.mark.slow
def test_an_import_takes_the_place_of_what_a_merge_kept_of_it(lab: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    merge_paths([lab.database], other.database, scratch=False)
    shutil.copytree(lab.sources, other.sources)
    execute(other.database, "UPDATE benchmark_results SET status = 'failed', reason = 'old'")
    other.import_files()
    before = content(other.database)
    imported = [row for row in before["benchmark_results"] if "old" not in row]
    assert imported
    other.database.unlink()
    rebuild_database(other.results, other.database)
    assert {*imported} <= {*content(other.database)["benchmark_results"]}


@pytest.mark.slow
def test_what_a_snapshot_brings_back_stays(runs: Path, results: Path) -> None:
    take_snapshot(runs, results / "snapshots", "before", None)
    before = content(runs)
    maintain_results(results, runs, RetentionPolicy(keep=1))
    restore_database(results, runs, "before")
    assert content(runs) == before
    runs.unlink()
    rebuild_database(results, runs, scratch=True)
    assert content(runs) == before


@pytest.mark.slow
def test_rows_whose_files_are_gone_are_kept_first(results: Path) -> None:
    database = results / "benchmarks.duckdb"
    before = content(database)
    shutil.rmtree(results / "b")
    assert rebuild_database(results, database).takeover.aside is None
    assert content(database) == before


def test_a_copy_stays_of_another_schema_with_more_than_the_files(results: Path) -> None:
    database = results / "benchmarks.duckdb"
    shutil.rmtree(results / "b")
    execute(
        database,
        f"UPDATE schema_version SET version = {STORE_VERSION - 1}",
        "ALTER TABLE benchmark_runs ADD COLUMN unheard_of BIGINT",
    )
    takeover = rebuild_database(results, database).takeover
    assert takeover.lost == 3
    assert takeover.aside is not None
    assert len(rows(takeover.aside, "result_id")) == 9
    assert {name.partition("/")[0] for name in ids(database)} == {"a", "c"}


def test_where_there_are_no_records_it_stays(runs: Path, tmp_path: Path) -> None:
    before = runs.read_bytes()
    shutil.rmtree(kept_folder(runs))
    execute(runs, "DELETE FROM benchmark_results", "DELETE FROM benchmark_runs")
    with pytest.raises(NothingToDo, match="holds no record"):
        rebuild_database(tmp_path / "nowhere", runs)
    assert before
    assert not list(runs.parent.glob(".*"))


def test_damaged_decisions_stop_it(runs: Path) -> None:
    before = content(runs)
    execute(runs, f"UPDATE schema_version SET version = {STORE_VERSION - 1}")
    for path in kept_folder(runs).glob("*.json"):
        path.write_text("[[")
    with pytest.raises(StoreError, match="json: cannot be read"):
        rebuild_database(runs.parent, runs)
    execute(runs, f"UPDATE schema_version SET version = {STORE_VERSION}")
    assert content(runs) == before
