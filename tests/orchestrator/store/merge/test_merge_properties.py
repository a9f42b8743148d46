"""Whatever the order and however the files are split: the same records make the same database."""

import itertools
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.databases import content
from tests.support.records import RECORDED_AT, a_failure, a_record


def _record(run: int, cell: int, minute: int, status: str) -> Record:
    changes = {
        "run_id": f"run-{run}",
        "batch_size": cell,
        "recorded_at": RECORDED_AT + timedelta(minutes=minute),
        "device_name": f"machine-{run % 2}",
    } | ({"hardware_id": None} if status == "lost" else {})
    if status == "ok":
        return a_record(**changes, durations_ns=[minute + 1, cell])
    return a_failure(status, f"at minute {minute}", **changes)


def _rank(record: Record) -> tuple[bool, datetime]:
    return record.status != "lost", record.recorded_at


RECORDS = st.lists(
    st.builds(
        _record,
        run=st.integers(1, 3),
        cell=st.integers(1, 3),
        minute=st.integers(0, 30),
        status=st.sampled_from(["ok", "lost", "timeout"]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda record: record.recorded_at,
)


def _files(folder: Path, records: Sequence[Record]) -> list[Path]:
    paths = []
    for number, record in enumerate(records):
        place = folder / str(number)
        place.mkdir()
        paths.append(save_record(record, place))
    return paths


def _merged(database: Path, parts: Sequence[Sequence[Path]]) -> list[MergeReport]:
    with Store.open(database) as store:
        return [store.merge(part) for part in parts]


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 6)
@given(records=RECORDS, data=st.data())
def test_order_and_split_do_not_matter(records: list[Record], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = _files(folder, records)
        shuffled = data.draw(st.permutations(files))
        cuts = sorted(data.draw(st.sets(st.integers(1, len(files)), max_size=2)) | {0, len(files)})
        parts = [shuffled[start:end] for start, end in itertools.pairwise(cuts)]

        _merged(folder / "at-once.duckdb", [files])
        reports = _merged(folder / "in-parts.duckdb", [*parts, files])

        once, again = content(folder / "at-once.duckdb"), content(folder / "in-parts.duckdb")
        assert once == again
        assert reports[-1] == MergeReport(unchanged=len(files))
        newest = {(record.run_id, record.cell_id) for record in records}
        assert sum(report.inserted for report in reports) == len(newest)
        assert len(once["benchmark_results"]) == len(newest)


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 5)
@given(records=RECORDS)
def test_the_newest_record_of_a_cell_that_had_its_chance_is_stored(records: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _merged(folder / "store.duckdb", [_files(folder, records)])
        newest: dict[tuple[str, str], Record] = {}
        for record in sorted(records, key=_rank):
            newest[record.run_id, record.cell_id] = record
        with Store.open_readonly(folder / "store.duckdb") as store:
            stored = {
                (run.run_id, cell_id): status
                for run in store.runs()
                for cell_id, status in store.verdicts(run.run_id).items()
            }
        assert stored == {key: record.status for key, record in newest.items()}
