"""Results as values: everything that was recorded comes back, in batches, whoever measured it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, get_args, get_origin

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from orchestrator.screen.words.records import record_words
from orchestrator.store.query.records import _BATCH_ROWS, StoredRecord
from orchestrator.store.schema.sources import Origin
from orchestrator.store.schema.tables import ORIGIN, RECORD, REQUIRED, WORD_COLUMNS
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from runner.contract.record.files import arrow_schema
from runner.contract.record.record import Record
from tests.orchestrator.store.conftest import Save
from tests.support.records import RECORDED_AT, a_failure, a_record

ON_DEMAND = ("job", "warmup_durations_ns", "durations_ns", "part_durations_ns")
MEASURED_AT = datetime(2024, 5, 1, tzinfo=UTC)


def only(store: Store, *, trusted: bool = True, whole: bool = False) -> StoredRecord:
    (record,) = store.records(trusted=trusted, whole=whole)
    return record


def as_recorded(record: StoredRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in Record.model_fields}


def test_a_whole_record_is_the_one_that_was_merged(store: Store, results: Path, save: Save) -> None:
    recorded = a_record(
        image="accelmatrix-cpu:1",
        image_digest="sha256:0",
        image_labels={"a": "b"},
        part_durations_ns={"first_token": [1, 2]},
        execution_options={"threads": "2"},
    )
    save(recorded)
    store.merge([results], words=record_words)
    record = only(store, whole=True)
    assert as_recorded(record) == recorded.model_dump()
    assert record.result_id == f"{recorded.run_id}/{recorded.cell_id}"
    assert (record.source, record.simulated) == ("accelmatrix", False)


def test_what_is_large_comes_on_demand_alone(store: Store, results: Path, save: Save) -> None:
    recorded = a_record()
    save(recorded)
    store.merge([results], words=record_words)
    record = only(store)
    nothing = dict.fromkeys(ON_DEMAND)
    assert as_recorded(record) == recorded.model_dump() | nothing


def test_where_nothing_fits_nothing_comes(store: Store, results: Path, save: Save) -> None:
    save(a_record())
    store.merge([results], words=record_words)
    for whole in (False, True):
        assert list(store.records(whole=whole, batch_size=999)) == []


def test_a_failure_is_a_value_too(store: Store, results: Path, save: Save) -> None:
    save(a_failure("timeout", "hung"))
    store.merge([results], words=record_words)
    record = only(store, trusted=False, whole=True)
    assert (record.status, record.reason, record.throughput) == ("timeout", "hung", None)
    assert record.durations_ns is None


def test_imported_rows_lack_what_their_file_did_not_tell(store: Store, results: Path) -> None:
    _save_foreign(results / "foreign.parquet")
    store.merge([results], words=record_words)
    assert list(store.records()) == []
    with pytest.raises(UsageError, match="no trusted result has that source"):
        store.records(source="timm")
    record = only(store, trusted=False, whole=True)
    assert (record.source, record.source_measured_at) == ("timm", MEASURED_AT)
    assert (record.backend, record.runtime, record.seed) == ("tpu", None, None)
    assert record.throughput == 12.5


def test_times_of_imported_rows_are_those_of_their_file(store: Store, results: Path) -> None:
    _save_foreign(results / "foreign.parquet")
    store.merge([results], words=record_words)
    assert list(store.records(trusted=False, since=RECORDED_AT)) == []
    assert len(list(store.records(trusted=False, since=MEASURED_AT))) == 1


@pytest.mark.slow
def test_many_records_come_in_batches(store: Store, results: Path, save: Save) -> None:
    count = _BATCH_ROWS + 3
    table = pa.Table.from_pylist(
        [a_record(batch_size=size).model_dump() for size in range(1, count + 1)], arrow_schema()
    )
    pq.write_table(table, results / "many.parquet")
    store.merge([results], words=record_words)
    stream = store.records()
    assert next(stream).model == "bert-tiny"
    assert {record.batch_size for record in stream} | {1} == set(range(1, count + 1))


def test_other_questions_may_be_asked_between_records(
    database: Path, results: Path, save: Save
) -> None:
    save(a_record(batch_size=1), a_record(batch_size=2))
    with Store.open(database) as store:
        store.merge([results], words=record_words)
    with Store.open_readonly(database) as store:
        seen = [
            (store.results(record.run_id)[0].model, store.arrow("SELECT 1 AS one").num_rows)
            for record in store.records()
        ]
    assert seen == [("bert-tiny", 1)] * 2


def test_records_end_with_their_store(database: Path, results: Path, save: Save) -> None:
    save(a_record(batch_size=1), a_record(batch_size=2))
    with Store.open(database) as store:
        store.merge([results], words=record_words)
    with Store.open_readonly(database) as store:
        begun, untouched, ended = store.records(), store.records(), store.records()
        next(begun)
        assert len(list(ended)) == 2
    store.close()
    Store.open(database, wait_s=0).close()
    for stream in (begun, untouched):
        with pytest.raises(StoreError, match="closed before all of its records were read"):
            next(stream)
    assert list(ended) == []


def test_a_row_that_no_record_may_hold_is_named(database: Path, results: Path, save: Save) -> None:
    save(a_record())
    with Store.open(database) as store:
        store.merge([results], words=record_words)
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE benchmark_results SET grade = 'Z'")
    with (
        Store.open_readonly(database) as store,
        pytest.raises(StoreError, match=r"b1-s128-inference: grade: 'Z'") as caught,
    ):
        list(store.records())
    assert "database check" in str(caught.value.hint)


def _save_foreign(path: Path) -> None:
    schema = arrow_schema()
    for field in arrow_schema(Origin):
        schema = schema.append(field)
    row = {
        "run_id": "import-1",
        "job_id": "timm",
        "cell_id": "tpu-resnet50",
        "recorded_at": RECORDED_AT,
        "model": "resnet50",
        "backend": "tpu",
        "status": "ok",
        "proof": "none",
        "throughput": 12.5,
        **Origin(source="timm", source_measured_at=MEASURED_AT).model_dump(),
    }
    pq.write_table(pa.Table.from_pylist([row], schema), path)


LEAST = {
    "result_id": "run/cell",
    "run_id": "run",
    "job_id": "job",
    "cell_id": "cell",
    "recorded_at": RECORDED_AT,
    "model": "bert-tiny",
    "status": "ok",
    "proof": "none",
}


def test_it_has_every_column_that_is_kept_of_a_record() -> None:
    kept = {column.name for column in (*RECORD, *WORD_COLUMNS, *ORIGIN)}
    assert set(StoredRecord.model_fields) == kept | {"result_id"}


def test_what_every_result_has_suffices() -> None:
    assert set(REQUIRED) | {"result_id"} == set(LEAST)
    record = StoredRecord.model_validate(dict.fromkeys(StoredRecord.model_fields) | LEAST | _OURS)
    assert record.backend is None
    assert record.latency_median_s is None


def test_words_of_others_are_taken() -> None:
    record = StoredRecord.model_validate(LEAST | {"backend": "tpu", "precision": "fp8"})
    assert (record.backend, record.precision) == ("tpu", "fp8")


def test_it_cannot_be_changed() -> None:
    record = StoredRecord.model_validate(LEAST)
    with pytest.raises(ValidationError, match="frozen"):
        record.model = "gpt2"  # type: ignore[misc]


@pytest.mark.parametrize("name", sorted(Record.model_fields))
def test_a_columns_type_is_the_records_or_wider(name: str) -> None:
    record = Record.model_fields[name].annotation
    stored = StoredRecord.model_fields[name].annotation
    assert _plain(record) <= _plain(stored)


_OURS = {"source": "accelmatrix", "simulated": False}


def _plain(annotation: object) -> set[object]:
    """The types that an annotation allows; a word of a list is text, a number of any range one."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    members = set(get_args(annotation))
    if members and all(isinstance(member, str) for member in members):
        return {str}
    if type(None) in members:
        return {type(None)}.union(*(_plain(each) for each in members - {type(None)}))
    return {annotation}
