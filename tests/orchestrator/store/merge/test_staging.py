"""Files are read some at a time, and none is left out or read twice."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.merge.staging import FILES_AT_ONCE
from orchestrator.store.store import Store
from runner.contract.record.files import to_table
from tests.support.records import a_failure


@pytest.mark.slow
def test_more_files_than_are_read_at_once(database: Path, results: Path) -> None:
    count = FILES_AT_ONCE + 5
    table = to_table([a_failure("lost", "gone", batch_size=size + 1) for size in range(count)])
    for row in range(count):
        pq.write_table(table.slice(row, 1), results / f"{row}.parquet")
    (results / "cut.parquet").write_bytes(b"PAR1")
    with Store.open(database) as store:
        report = store.merge([results])
        assert len(store.verdicts("20261121-120000-abcd")) == count
        assert (report.inserted, len(report.damaged)) == (count, 1)
        assert store.merge([results / "0.parquet"]) == MergeReport(unchanged=1)
