"""What a bundle carries is what the database held, and many of them become one database."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.bundle import merge_bundle, opened, write_bundle
from orchestrator.errors import StoreError
from orchestrator.run_merge import merge_paths
from orchestrator.store import MergeReport, Store, query
from runner.record import save_record
from tests.orchestrator.bundle.conftest import RECORDS, TOLD
from tests.orchestrator.bundle.test_check import forged, saying
from tests.orchestrator.store.whole import content
from tests.records import a_record

ROWS = len(RECORDS) + 2


def take(bundle: Path, database: Path) -> MergeReport:
    """Merge one bundle."""
    return merge_paths([bundle], database, scratch=False)


def test_nothing_is_lost_on_the_way(database: Path, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    assert take(bundle, other) == MergeReport(inserted=ROWS)
    assert content(other) == content(database)


def test_what_came_out_of_a_bundle_gives_the_same_bundle(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    take(bundle, other)
    again = write_bundle(other, (), tmp_path / "again.zip", force=False).path
    assert again.read_bytes() == bundle.read_bytes()


def test_merging_twice_changes_nothing(database: Path, bundle: Path) -> None:
    before = content(database)
    assert take(bundle, database) == MergeReport(unchanged=ROWS)
    assert content(database) == before


def test_columns_of_newer_runners_add_up(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    take(bundle, other)
    (row,) = query(other, "SELECT other FROM benchmark_results WHERE batch_size = 64").to_pylist()
    assert row == {"other": '{"afterglow":null,"zeal":"high"}'}


def test_two_machines_become_one_database(tmp_path: Path) -> None:
    bundles = [of_host(tmp_path / host, host) for host in ("host-a", "host-b")]
    merged = merge_paths(bundles, tmp_path / "all.duckdb", scratch=False)
    assert merged == MergeReport(inserted=4)
    sql = "SELECT hostname, count(*) AS n FROM benchmark_performance GROUP BY ALL ORDER BY ALL"
    assert query(tmp_path / "all.duckdb", sql).to_pylist() == [
        {"hostname": "host-a", "n": 2},
        {"hostname": "host-b", "n": 2},
    ]
    runs = "SELECT run_id, hostname, matrix FROM benchmark_runs ORDER BY run_id"
    assert query(tmp_path / "all.duckdb", runs).to_pylist() == [
        {"run_id": f"run-{host}", "hostname": host, "matrix": f"version: 1 # {host}"}
        for host in ("host-a", "host-b")
    ]


def of_host(folder: Path, host: str) -> Path:
    """A bundle of one run with two cells on this host."""
    folder.mkdir()
    run_id = f"run-{host}"
    for batch_size in (1, 2):
        save_record(a_record(hostname=host, run_id=run_id, batch_size=batch_size), folder)
    told = {"run_id": run_id, "hostname": host, "matrix": f"version: 1 # {host}"}
    with Store.open(folder / "own.duckdb") as store:
        store.merge([folder], TOLD.model_copy(update=told))
    return write_bundle(folder / "own.duckdb", (), folder / "own.zip", force=False).path


def test_bundles_stand_beside_folders(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    save_record(a_record(run_id="more"), folder)
    merged = merge_paths([folder, bundle], tmp_path / "other.duckdb", scratch=False)
    assert merged.inserted == ROWS + 1


def test_an_old_bundle_does_not_take_back_what_is_known_of_a_run(
    database: Path, records: Path, tmp_path: Path
) -> None:
    unfinished = TOLD.model_copy(update={"finished_at": None, "matrix": "version: 0"})
    with Store.open(tmp_path / "old.duckdb") as store:
        store.merge([records], unfinished)
    old = write_bundle(tmp_path / "old.duckdb", ["last"], tmp_path / "old.zip", force=False).path
    before = content(database)
    take(old, database)
    assert content(database) == before


def test_a_newer_bundle_tells_more_of_a_run(database: Path, records: Path, tmp_path: Path) -> None:
    later = TOLD.finished_at
    assert later is not None
    newer = TOLD.model_copy(update={"finished_at": later + timedelta(hours=1), "planned": 9})
    with Store.open(tmp_path / "new.duckdb") as store:
        store.merge([records], newer)
    path = write_bundle(
        tmp_path / "new.duckdb", [TOLD.run_id], tmp_path / "n.zip", force=False
    ).path
    take(path, database)
    sql = f"SELECT planned FROM benchmark_runs WHERE run_id = '{TOLD.run_id}'"
    assert query(database, sql).to_pylist() == [{"planned": 9}]


def test_a_bundle_with_a_fault_keeps_all_others_out(bundle: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    bad.write_bytes(bundle.read_bytes()[:-100])
    other = tmp_path / "other.duckdb"
    with pytest.raises(StoreError, match=r"bad\.zip: no sound bundle: not a whole zip archive"):
        merge_paths([bundle, bad], other, scratch=False)
    assert not other.exists()


def test_who_cannot_read_a_newer_bundle_is_told_what_to_install(
    bundle: Path, tmp_path: Path
) -> None:
    newer = forged(bundle, saying(version=2, accelmatrix="9.9"))
    with pytest.raises(StoreError, match=r"version 2.*AccelMatrix 9\.9 wrote it") as caught:
        take(newer, tmp_path / "other.duckdb")
    assert caught.value.hint == "install the newer AccelMatrix that wrote it"


def test_rows_of_the_fake_backend_stay_in_scratch_databases(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    save_record(a_record(backend="fake", runtime="torch"), folder)
    with Store.open(tmp_path / "scratch.duckdb", scratch=True) as store:
        store.merge([folder])
    written = write_bundle(tmp_path / "scratch.duckdb", (), tmp_path / "s.zip", force=False)
    assert written.manifest.scratch
    report = take(written.path, tmp_path / "real.duckdb")
    assert (report.inserted, len(report.refused)) == (0, 1)
    merged = merge_paths([written.path], tmp_path / "other.duckdb", scratch=True)
    assert merged.inserted == 1


def test_a_bundle_must_be_sound_to_be_merged(tmp_path: Path, database: Path) -> None:
    (tmp_path / "no.zip").write_text("no zip")
    with (
        opened(tmp_path / "no.zip") as found,
        Store.open(database) as store,
        pytest.raises(StoreError, match="no sound bundle"),
    ):
        merge_bundle(found, store)
