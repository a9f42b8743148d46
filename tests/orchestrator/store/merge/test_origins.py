"""What others measured, or nobody did, never passes for ours and never takes our rows' place."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.schema.sources import Origin
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from performance.synthetic import synthesise
from runner.contract.errors import StoreError
from runner.contract.record.files import arrow_schema
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_failure, a_record

LATER = RECORDED_AT + timedelta(hours=1)
DEFAULTS = [view.name for view in VIEWS if not view.name.endswith("_all")]


def save(path: Path, *records: Record, **origin: Any) -> Path:
    told = Origin(**origin).model_dump()
    schema = pa.schema([*arrow_schema(), *arrow_schema(Origin)])
    table = pa.Table.from_pylist([record.model_dump() | told for record in records], schema)
    pq.write_table(table, path)
    return path


def ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    return store._connection.execute(sql).fetchall()


def merge(store: Store, *files: Path) -> None:
    store.merge(files).require_complete()


def shown(store: Store) -> dict[str, bool]:
    counts = ask(
        store, f"SELECT {', '.join(f'(SELECT count(*) FROM {view})' for view in DEFAULTS)}"
    )
    return {view: bool(count) for view, count in zip(DEFAULTS, counts[0], strict=True)}


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"{number}.parquet" for number in range(9))


def test_an_imported_verdict_does_not_hide_ours(store: Store, files: Iterator[Path]) -> None:
    ours = save(next(files), a_record(run_id="ours"))
    theirs = a_failure("failed", "theirs", run_id="theirs", recorded_at=LATER)
    merge(store, ours, save(next(files), theirs, source="somebody", source_measured_at=LATER))
    sql = "SELECT source, status FROM {} ORDER BY source"
    assert ask(store, sql.format("compatibility")) == [("accelmatrix", "ok")]
    both = [("accelmatrix", "ok"), ("somebody", "failed")]
    assert ask(store, sql.format("compatibility_all")) == both
    assert ask(store, sql.format("latest_results_all")) == both


@pytest.mark.slow
def test_of_imported_rows_the_later_measured_one_is_the_latest(
    store: Store, files: Iterator[Path]
) -> None:
    for run_id, told in (("1", LATER), ("2", RECORDED_AT), ("3", None)):
        record = a_record(run_id=run_id, proof="none")
        merge(store, save(next(files), record, source="somebody", source_measured_at=told))
    assert ask(store, "SELECT run_id FROM latest_results_all") == [("1",)]


@pytest.mark.slow
def test_files_that_name_neither_machine_nor_host_replace_nothing_in_each_other(
    store: Store, files: Iterator[Path]
) -> None:
    for run_id in ("1", "2"):
        record = a_record(run_id=run_id, hostname=None, hardware_id=None, proof="none")
        merge(store, save(next(files), record, source="somebody"))
    found = ask(store, "SELECT run_id FROM latest_results_all ORDER BY run_id")
    assert found == [("1",), ("2",)]


def test_two_results_of_one_moment_have_an_order(store: Store, files: Iterator[Path]) -> None:
    merge(
        store,
        save(next(files), a_record(run_id="b", latency_median_s=0.004)),
        save(next(files), a_record(run_id="a", latency_median_s=0.002)),
    )
    sql = "SELECT run_id, previous_median_ms, ratio FROM history ORDER BY run_id"
    assert ask(store, sql) == [("a", None, None), ("b", 2.0, 2.0)]
    assert ask(store, "SELECT run_id FROM latest_results") == [("b",)]


def test_a_real_database_refuses_synthetic_rows_and_takes_the_others(
    store: Store, tmp_path: Path, files: Iterator[Path]
) -> None:
    list(synthesise(tmp_path / "made", 20, 0))
    ours = save(next(files), a_record())
    with pytest.raises(StoreError, match="refused 20 rows that no device made") as refused:
        merge(store, ours, tmp_path / "made")
    assert "--scratch" in (refused.value.hint or "")
    assert ask(store, "SELECT count(*), min(source) FROM benchmark_results") == [(1, "accelmatrix")]


@pytest.mark.slow
def test_default_views_show_synthetic_rows_in_a_scratch_database_alone(
    database: Path, tmp_path: Path
) -> None:
    """Even rows that somebody put into a real database by hand."""
    list(synthesise(tmp_path / "made", 300, 0))
    without = dict.fromkeys(("imported_results", "contradictions", "paired_ratios"), False)
    with Store.open(database, scratch=True) as store:
        merge(store, tmp_path / "made")
        assert shown(store) == dict.fromkeys(DEFAULTS, True) | without
        store._connection.execute("UPDATE schema_version SET scratch = false")
        assert shown(store) == dict.fromkeys(DEFAULTS, False)
        assert ask(store, "SELECT count(*) FROM benchmark_performance_all") == [(300,)]


def test_a_row_that_calls_itself_ours_and_simulated_is_refused(
    store: Store, files: Iterator[Path]
) -> None:
    with pytest.raises(StoreError, match="simulated, and called ours"):
        merge(store, save(next(files), a_record(), simulated=True))
    for view in ("benchmark_performance", "latest_results", "history", "compatibility"):
        assert ask(store, f"FROM {view}") == []
