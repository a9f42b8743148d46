"""The value that Python code gets has every column, and takes what others left out."""

from typing import get_args

import pytest
from pydantic import ValidationError

from orchestrator.store import StoredRecord
from orchestrator.store.schema.tables import ORIGIN, OTHER, RECORD, REQUIRED
from runner.record import Record
from tests.records import RECORDED_AT

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
    kept = {column.name for column in (*RECORD, *ORIGIN, OTHER)}
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
    """The types that an annotation allows; a word of a list is text."""
    members = set(get_args(annotation))
    if members and all(isinstance(member, str) for member in members):
        return {str}
    if type(None) in members:
        return {type(None)}.union(*(_plain(each) for each in members - {type(None)}))
    return {annotation}
