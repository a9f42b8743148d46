"""Databases to damage, to copy and to vacuum: made once, copied for each test that changes one."""

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.health.snapshots import Snapshot, list_snapshots, take_snapshot
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.orchestrator.store.health.sound import a_sound_database, saved
from tests.support.records import RECORDED_AT, a_failure, a_record

BULK_ROWS = 60_000


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    a_sound_database(folder / "benchmarks.duckdb", folder)
    return folder / "benchmarks.duckdb"


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


def _copied(template: Path, target: Path) -> Path:
    shutil.copytree(template, target, dirs_exist_ok=True)
    return target / "benchmarks.duckdb"


def _merged(folder: Path, records: Sequence[Record], *runs: Run) -> Path:
    saved(folder / "results", records)
    with Store.open(folder / "benchmarks.duckdb") as store:
        store.merge([folder / "results"], *runs)
    return folder / "benchmarks.duckdb"


@pytest.fixture(scope="session")
def _two_runs(templates: Path) -> Path:
    other = {"model": "gpt2", "model_spec": '{"name": "gpt2"}', "device_name": "Other"}
    image = {"image": "an-image:1", "image_digest": "sha256:aa", "launcher": "docker"}
    records = (
        a_record(run_id="old", **other, **image),
        a_record(run_id="old", kernel="6.99", graph_sha256="sha256:bb"),
        a_failure("lost", "gone", run_id="old", batch_size=2),
        a_record(run_id="new", recorded_at=RECORDED_AT + timedelta(hours=9), **image),
    )
    run = Run(run_id="new", started_at=RECORDED_AT + timedelta(hours=8))
    return _merged(templates / "two", records, run).parent


@pytest.fixture
def two_runs(_two_runs: Path, tmp_path: Path) -> Path:
    """One run on a machine of its own with a model of its own, one that shares its image."""
    return _copied(_two_runs, tmp_path)


@pytest.fixture(scope="session")
def _filled(templates: Path) -> Path:
    return _merged(templates / "filled", (a_record(), a_record(batch_size=8))).parent


@pytest.fixture
def filled(_filled: Path, tmp_path: Path) -> Path:
    return _copied(_filled, tmp_path)


@pytest.fixture(scope="session")
def _past(templates: Path) -> Path:
    database = _merged(templates / "past", (a_record(),))
    take_snapshot(database, database.parent / "snapshots", "small", None)
    return _merged(database.parent, (a_record(batch_size=8),)).parent


@pytest.fixture
def past(_past: Path, tmp_path: Path) -> Snapshot:
    """A snapshot of one result; the database has two by now."""
    _copied(_past, tmp_path)
    (snapshot,) = list_snapshots(tmp_path / "snapshots")
    return snapshot


@pytest.fixture(scope="session")
def _roomy(templates: Path) -> Path:
    records = (a_record(run_id="kept"), a_record(run_id="bulk", batch_size=2))
    database = _merged(templates / "roomy", records)
    with duckdb.connect(database) as connection:
        connection.execute(
            "INSERT INTO raw_benchmark_data BY NAME SELECT 'bulk/' || i AS result_id,"
            f" [hash(i, j) % 1000000007 FOR j IN range(50)]::BIGINT[] AS durations_ns"
            f" FROM range({BULK_ROWS}) rows(i)"
        )
        connection.execute("CHECKPOINT")
        connection.execute("DELETE FROM raw_benchmark_data WHERE starts_with(result_id, 'bulk/')")
    return database.parent


@pytest.fixture
def roomy(_roomy: Path, tmp_path: Path) -> Path:
    """A database most of which is free: many rows were dropped from it."""
    return _copied(_roomy, tmp_path)
