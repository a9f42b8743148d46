from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.records.validate import read_record
from runner.contract.errors import RecordError
from runner.contract.record.files import arrow_schema, save_record, to_table
from runner.contract.record.ids import MACHINE_FACTS, environment_id, hardware_id, model_id
from runner.contract.record.record import Record
from tests.hostile.scene import measured_records
from tests.support.jobs import a_job
from tests.support.records import NOISY, record_for
from tools.columns import column_docs


def a_verdict(**changes: object) -> Record:
    job = a_job()
    return record_for(job, job.cells[0], **changes)


def test_every_column_has_a_type_and_a_meaning() -> None:
    schema = arrow_schema()
    assert schema.names == list(Record.model_fields)
    docs = column_docs(Record)
    assert [name for name in schema.names if not docs.get(name, "").endswith(".")] == []


def test_a_saved_record_reads_back_the_same(tmp_path: Path) -> None:
    record = a_verdict(
        durations_ns=[1, 2, 3],
        evidence={"claimed": "fake"},
        libraries={"torch": "2"},
        cpu_flags=["avx2"],
        grade="A",
        doubts=[NOISY],
        part_durations_ns={"service": [1, 2]},
        percentile_iterations_needed={"p50": 11},
    )
    path = save_record(record, tmp_path)
    assert path.name == f"{record.cell_id}.parquet"
    assert read_record(path) == record


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_file_is_no_record(tmp_path: Path, keep: float) -> None:
    path = save_record(a_verdict(), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else int(keep)])
    with pytest.raises(RecordError, match=path.name):
        read_record(path)


@pytest.mark.parametrize("rows", [pa.table({"a": [1]}), to_table([a_verdict(), a_verdict()])])
def test_foreign_parquet_and_two_rows_are_no_record(tmp_path: Path, rows: pa.Table) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(rows, path)
    with pytest.raises(RecordError, match=r"foreign\.parquet"):
        read_record(path)


def test_a_time_that_no_calendar_has_is_no_record(tmp_path: Path) -> None:
    path, table = tmp_path / "far.parquet", to_table([a_verdict()])
    at = table.column_names.index("recorded_at")
    far = pa.array([2**61]).cast(table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), far), path)
    with pytest.raises(RecordError, match=r"far\.parquet"):
        read_record(path)


def test_the_ids_of_a_measured_record_can_be_computed_again(tmp_path) -> None:
    record = measured_records(tmp_path / "out")[1]
    facts: dict[str, Any] = read_record(save_record(record, tmp_path)).model_dump(mode="json")
    assert environment_id(facts) == record.environment_id
    assert hardware_id(facts) == record.hardware_id
    assert model_id(facts["model_spec"]) == record.model_id


@pytest.mark.parametrize(("bytes_less", "is_same"), [(3_000_000, True), (1 << 30, False)])
def test_a_machine_is_the_same_under_a_kernel_that_keeps_other_memory(
    bytes_less: int, is_same: bool
) -> None:
    facts: dict[str, Any] = dict.fromkeys(MACHINE_FACTS, "a") | {
        "memory_total_bytes": 33_656_000_000
    }
    other = {**facts, "memory_total_bytes": facts["memory_total_bytes"] - bytes_less}
    assert (hardware_id(facts) == hardware_id(other)) == is_same
