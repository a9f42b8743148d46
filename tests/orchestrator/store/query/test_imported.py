"""What the database holds of imports comes back as it went in."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.exchange.imports.record import records_table
from orchestrator.store.query.whole_runs import imported_rows_at
from orchestrator.store.store import Store
from runner.contract.record.files import rows
from runner.contract.record.record import Record, Row
from tests.support.records import a_record

FOUND = [
    ImportedMeasurement(
        location="/0",
        model="m",
        status="ok",
        device_name="a device",
        libraries={"torch": "2.4"},
        operating_system="an OS",
        latency_mean_s=0.1 + 0.2,
        memory_peak_bytes=2**62 + 1,
        durations_ns=(3, 1, 2),
        part_durations_ns={"first_token": (1,)},
        details={"a.b": "c"},
        measured_at=datetime(2025, 3, 1, 12, tzinfo=UTC),
    ),
    ImportedMeasurement(
        location="/1", model="m", status="failed", reason="x", simulated=True, marks=("/: mock",)
    ),
]


def imported(folder: Path) -> tuple[FileOutcome, Path]:
    verdict = FileOutcome(Path("a.json"), "f" * 64, "a-format", "somebody", Reading(tuple(FOUND)))
    path = folder / "import.parquet"
    pq.write_table(records_table(verdict, datetime(2026, 11, 22, tzinfo=UTC)), path)
    return verdict, path


def told(row: Row) -> Row:
    """What is not null, without what stands in the environment of rows that tell of one."""
    known = {name: value for name, value in row.items() if value not in (None, [], {})}
    return {name: value for name, value in known.items() if name != "orchestrator_version"}


def test_rows_come_back_whole(tmp_path: Path, database: Path) -> None:
    verdict, path = imported(tmp_path)
    with Store.open(database) as store:
        store.merge([path])
        held = rows(store.imported([verdict.run_id]))
    went_in = rows(records_table(verdict, datetime(2026, 11, 22, tzinfo=UTC)))
    by_place = sorted(held, key=lambda row: str(row["source_place"]))
    assert [told(row) for row in by_place] == [told(row) for row in went_in]


@pytest.mark.slow
def test_others_are_not_told(
    tmp_path: Path, database: Path, save: Callable[[Record], Path]
) -> None:
    verdict, path = imported(tmp_path)
    with Store.open(database) as store:
        store.merge([path, save(a_record())])
        assert store.imported(["import-other"]).num_rows == 0
        assert store.imported([]).num_rows == 0
        assert store.imported([verdict.run_id]).num_rows == 2


def test_what_is_forgotten_is_gone_with_its_durations(tmp_path: Path, database: Path) -> None:
    verdict, path = imported(tmp_path)
    with Store.open(database) as store:
        store.merge([path])
        cells = store.imported([verdict.run_id])["cell_id"].to_pylist()
        store.forget([f"{verdict.run_id}/{cell}" for cell in cells[:1]])
        store.forget([])
        left = store.imported([verdict.run_id])["cell_id"].to_pylist()
    assert left == cells[1:]


def test_a_database_is_looked_at_without_being_made(tmp_path: Path) -> None:
    assert imported_rows_at(tmp_path / "none.duckdb", ["import-1"], wait_s=0) is None
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_looked_at_without_being_changed(tmp_path: Path, database: Path) -> None:
    verdict, path = imported(tmp_path)
    with Store.open(database) as store:
        store.merge([path])
    before = database.read_bytes()
    found = imported_rows_at(database, [verdict.run_id], wait_s=0)
    assert found is not None
    assert found.num_rows == 2
    assert database.read_bytes() == before
