"""What strangers say of runs, results, machines and models that are here changes none of them."""

import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.check import open_bundle
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.query.ask import query
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.orchestrator.exchange.bundles.conftest import RECORDS, TOLD, save_foreign
from tests.support.databases import content
from tests.support.records import RECORDED_AT, a_failure, a_record
from tests.support.siblings import siblings

LATER = RECORDED_AT + timedelta(hours=2)
MINE = RECORDS[0]

Way = Callable[[Path], Path]


def loose(folder: Path) -> Path:
    return folder / "records"


def bundled(folder: Path) -> Path:
    return write_bundle(folder / "strange.duckdb", (), folder / "b.zip", force=False).bundle


@pytest.fixture(params=[loose, pytest.param(bundled, marks=pytest.mark.slow)])
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


def strange(folder: Path, record: Record, run: Run | None = None, **origin: Any) -> Path:
    (folder / "records").mkdir(parents=True)
    if origin:
        save_foreign(folder / "records", record, **origin)
    else:
        save_record(record, folder / "records")
    with Store.open(folder / "strange.duckdb") as store:
        store.merge([folder / "records"], *([run] if run else []))
    return folder


@pytest.mark.slow
def test_a_measurement_is_not_replaced(database: Path, tmp_path: Path, way: Way) -> None:
    before = content(database)
    lie = a_record(batch_size=1, recorded_at=LATER, latency_median_s=1e-6)
    path = way(strange(tmp_path / "stranger", lie))
    report = merge_paths([path], database, scratch=False)
    name = f"{MINE.run_id}/{MINE.cell_id}"
    assert (report.replaced, report.unchanged, report.contradicted) == (0, 1, (name,))
    with pytest.raises(StoreError, match="1 result stayed as measured") as caught:
        report.require_complete()
    assert caught.value.exit_code == 6
    after = content(database)
    shared = {"hardware_info", "environments", "models"}  # when they were last seen
    assert {name for name in before if before[name] != after[name]} <= shared


@pytest.mark.slow
def test_a_cell_that_had_no_chance_is_replaced(tmp_path: Path, way: Way) -> None:
    database = tmp_path / "mine.duckdb"
    folder = tmp_path / "mine"
    folder.mkdir()
    save_record(a_failure("lost", "gone", batch_size=1), folder)
    merge_paths([folder], database, scratch=False)
    path = way(strange(tmp_path / "stranger", a_record(batch_size=1, recorded_at=LATER)))
    assert merge_paths([path], database, scratch=False).replaced == 1


def test_a_run_keeps_its_description(database: Path, tmp_path: Path) -> None:
    facts = "SELECT * EXCLUDE (finished_at) FROM benchmark_runs ORDER BY ALL"
    before = query(database, facts).to_pylist()
    claims = {"finished_at": LATER, "command": "another", "matrix": None, "planned": 9, "seed": 1}
    folder = strange(tmp_path / "stranger", MINE, TOLD.model_copy(update=claims))
    merge_paths([bundled(folder)], database, scratch=False).require_complete()
    assert query(database, facts).to_pylist() == before
    ends = query(database, "SELECT max(finished_at) AS last FROM benchmark_runs").to_pylist()
    assert ends[0]["last"] < LATER


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param({}, id="ours"),
        pytest.param({"source": "somebody"}, id="others", marks=pytest.mark.slow),
    ],
)
def test_what_results_share_is_not_described_anew(
    database: Path, tmp_path: Path, way: Way, origin: dict[str, str]
) -> None:
    tables = ("hardware_info", "environments", "models")

    def described() -> list[list[dict[str, Any]]]:
        sql = "SELECT * EXCLUDE (seen_at) FROM {} WHERE {} = '{}'"
        ids = (MINE.hardware_id, MINE.environment_id, MINE.model_id)
        keys = ("hardware_id", "environment_id", "model_id")
        return [
            query(database, sql.format(*names)).to_pylist()
            for names in zip(tables, keys, ids, strict=True)
        ]

    claims: dict[str, Any] = {"family": "vision", "task": "another", "cpu_flags": ["another"]}
    if origin:  # whose ids are no hashes that could be checked
        claims |= {"device_name": "another", "kernel": "another", "image": "another"}
    lie = MINE.model_copy(
        update={"run_id": "other", "recorded_at": LATER, "proof": "none", "evidence": None} | claims
    )
    before = described()
    assert all(len(rows) == 1 for rows in before)
    path = way(strange(tmp_path / "stranger", lie, **origin))
    assert merge_paths([path], database, scratch=False).inserted == 1
    assert described() == before


@pytest.mark.slow
def test_our_words_take_the_place_of_what_others_said_first(tmp_path: Path, way: Way) -> None:
    database = tmp_path / "mine.duckdb"
    claims = {"proof": "none", "evidence": None, "kernel": "another"}
    lie = MINE.model_copy(update={"run_id": "other", "recorded_at": LATER} | claims)
    path = way(strange(tmp_path / "stranger", lie, source="somebody"))
    assert merge_paths([path], database, scratch=False).inserted == 1
    folder = tmp_path / "mine"
    folder.mkdir()
    save_record(MINE, folder)
    merge_paths([folder], database, scratch=False)
    sql = f"SELECT kernel FROM environments WHERE environment_id = '{MINE.environment_id}'"
    assert query(database, sql).to_pylist() == [{"kernel": MINE.kernel}]


@pytest.mark.slow
@pytest.mark.parametrize("median", siblings([1e-9, math.nan, math.inf, -1.0], keep=[math.nan]))
def test_impossible_medians_are_told_by_verify_and_left_out_by_merge(
    database: Path, tmp_path: Path, median: float
) -> None:
    with duckdb.connect(database) as connection:
        (name,) = connection.execute(
            "SELECT min(result_id) FROM benchmark_results WHERE latency_median_s > 0"
            " AND source = 'accelmatrix' AND NOT simulated"
        ).fetchone() or ("",)
        connection.execute(
            "UPDATE benchmark_results SET latency_median_s = ? WHERE result_id = ?", [median, name]
        )
    bundle = tmp_path / "impossible.zip"
    records = write_bundle(database, (), bundle, force=False).manifest.counts.records
    with open_bundle(bundle) as checked:
        assert (checked.sound, checked.faults, checked.left_out) == (False, (), 1)
        assert checked.impossible is not None
        assert name in checked.impossible.reason
    report = merge_paths([bundle], tmp_path / "elsewhere.duckdb", scratch=False)
    assert report.inserted == records - 1
    (damaged,) = report.damaged
    assert (damaged.path, damaged.records) == (bundle, 1)
    with Store.open_readonly(tmp_path / "elsewhere.duckdb") as store:
        assert store.measurement(name) is None
