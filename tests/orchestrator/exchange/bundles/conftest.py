"""Databases that are worth a bundle."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.screen.words.records import record_words
from orchestrator.store.schema.sources import Origin, Run
from orchestrator.store.store import Store
from runner.contract.record.files import arrow_schema, save_record
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_failure, a_record

EARLIER = RECORDED_AT - timedelta(days=1)
TOLD = Run(
    run_id="20261121-120000-abcd",
    started_at=RECORDED_AT,
    finished_at=RECORDED_AT + timedelta(hours=1),
    matrix="version: 1\naxes:\n  model: [bert-tiny]  # Größe\n",
    matrix_path="matrix.yaml",
    command="orchestrator run matrix.yaml",
    launchers=("docker", "process"),
    seed=7,
    planned=3,
    git_commit="c" * 40,
    orchestrator_version="0.1.0",
    hostname="example-host",
)
RECORDS = (
    a_record(batch_size=1, image="accelmatrix-cpu:1", image_digest="sha256:" + "a" * 64),
    a_record(
        batch_size=2, part_durations_ns={"first_token": [1, 2, 3]}, cosine_similarity=float("nan")
    ),
    a_record(batch_size=4, graph="g", graph_sha256="sha256:" + "b" * 64, graph_remedy="dynamic"),
    a_failure("out_of_memory", "killed; 'at' 2 GB", batch_size=8, hostname=None, libraries={}),
    a_record(batch_size=16, run_id="20261120-100000-ffff", recorded_at=EARLIER, kernel="5"),
    a_record(
        batch_size=32,
        run_id="odd/run \N{SNOWMAN}",
        recorded_at=EARLIER,
        hardware_id=None,
        warmup_durations_ns=[],
    ),
)
IMPORTED = {
    "source": "somebody",
    "source_format": "legacy",
    "source_file": "results/old.json",
    "source_sha256": "d" * 64,
    "source_place": "/0",
    "source_measured_at": RECORDED_AT,
    "simulated": True,
    "marks": ["is_simulated: true"],
    "details": {"gpu": "a|b"},
}


def save_foreign(folder: Path, record: Record, **more: Any) -> None:
    schema = pa.schema([*arrow_schema(), *arrow_schema(Origin)])
    rows = [record.model_dump() | Origin().model_dump() | more]
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{record.cell_id}-foreign.parquet")


def fill(database: Path, folder: Path) -> Path:
    for number, record in enumerate(RECORDS):
        place = folder / str(number)
        place.mkdir(parents=True)
        save_record(record, place)
    save_foreign(folder, a_record(run_id="import-legacy", proof="none", model_id=None), **IMPORTED)
    save_foreign(folder, a_record(batch_size=64))
    with Store.open(database) as store:
        store.merge([folder], TOLD, words=record_words).require_complete()
    return database


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("bundled")
    fill(site / "benchmarks.duckdb", site / "records")
    write_bundle(site / "benchmarks.duckdb", (), site / "all.zip", force=False)
    return site


@pytest.fixture
def records(site: Path) -> Path:
    return site / "records"


@pytest.fixture
def database(site: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(site / "benchmarks.duckdb", tmp_path))


@pytest.fixture
def bundle(site: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(site / "all.zip", tmp_path))
