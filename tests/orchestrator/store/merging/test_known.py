"""What the database has already is told by three columns, and is not read again."""

from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from orchestrator.store import MergeReport, Store
from orchestrator.store.merging.known import known_files
from runner.record import save_record, to_table
from tests.orchestrator.store.conftest import Save
from tests.records import RECORDED_AT, a_record

LATER = RECORDED_AT + timedelta(minutes=1)


@pytest.fixture
def merged(database: Path, results: Path, save: Save) -> Path:
    """A database that has two records."""
    save(a_record(batch_size=1), a_record(batch_size=2))
    with Store.open(database) as store:
        assert store.merge([results]) == MergeReport(inserted=2)
    return database


def known(database: Path, *files: Path) -> dict[str, int]:
    with duckdb.connect(database) as connection:
        return {path.name: count for path, count in known_files(connection, files).items()}


def test_files_of_which_each_record_is_there_are_known(merged: Path, tmp_path: Path) -> None:
    tables = {
        "same": [a_record(batch_size=2), a_record(batch_size=1)],
        "newer": [a_record(batch_size=2, recorded_at=LATER)],
        "older": [a_record(batch_size=2, recorded_at=RECORDED_AT - timedelta(minutes=1))],
        "more": [a_record(batch_size=1), a_record(batch_size=4)],
        "other": [a_record(batch_size=1, run_id="other")],
        "none": [],
    }
    files = [tmp_path / name for name in tables]
    for path in files:
        pq.write_table(to_table(tables[path.name]), path)
    assert known(merged, *files) == {"same": 2}


def test_beside_a_damaged_file_nothing_is_known_and_all_is_told(
    merged: Path, results: Path, tmp_path: Path
) -> None:
    cut = results / "cut.parquet"
    cut.write_bytes(b"PAR1")
    assert known(merged, *results.glob("**/*.parquet")) == {}
    with Store.open(merged) as store:
        report = store.merge([results])
    assert (report.unchanged, [file.path for file in report.damaged]) == (2, [cut])


def test_an_empty_database_is_not_asked(tmp_path: Path, database: Path) -> None:
    with Store.open(database):
        pass
    assert known(database, save_record(a_record(), tmp_path)) == {}
