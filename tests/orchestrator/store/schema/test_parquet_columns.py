"""Ids of older records are those that the runner gives, whatever the facts say."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.schema.parquet_columns import MODEL, environment_id_sql
from runner.contract.models import catalogue
from runner.contract.record import ENVIRONMENT_FACTS, digest, to_table
from tests.support.jobs import a_job, fake_cell
from tests.support.records import record_for

MAPS = {"libraries", "image_labels", "environment_variables"}
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["\n", "\t\"'\\", "/", "größer", "{}", "null", ""]
)
facts = st.fixed_dictionaries(
    {name: st.none() | st.dictionaries(words, words, max_size=3) for name in sorted(MAPS)}
    | {name: st.none() | words for name in ENVIRONMENT_FACTS if name not in MAPS}
    | {"orchestrator_version": words}
)


def asked(expression: str, table: pa.Table) -> object:
    """What the expression says of the table's row."""
    with duckdb.connect() as connection:
        ((value,),) = connection.from_arrow(table).project(expression).fetchall()
    return value


@pytest.mark.slow
@given(facts)
def test_an_environment_has_the_runners_id(told: dict[str, Any]) -> None:
    record = record_for(a_job(), fake_cell(), **told)
    table = to_table([record]).select(ENVIRONMENT_FACTS)
    assert asked(environment_id_sql(table.column_names), table) == record.environment_id


def test_a_fact_that_no_column_tells_counts_as_unknown() -> None:
    unknown = dict.fromkeys(ENVIRONMENT_FACTS) | {"orchestrator_version": "1"}
    record = record_for(a_job(), fake_cell(), **unknown)
    table = to_table([record]).select(["orchestrator_version"])
    assert asked(environment_id_sql(table.column_names), table) == record.environment_id


@pytest.mark.slow
def test_every_models_id_and_job_are_the_runners() -> None:
    for spec in catalogue().values():
        job = a_job(model=spec)
        record = record_for(job, fake_cell())
        held = pa.table({"job": [job.model_dump_json()]})
        assert asked(MODEL["model_spec"], held) == spec.model_dump_json() == record.model_spec
        assert asked(MODEL["model_id"], held) == digest(spec.model_dump_json()) == record.model_id
        assert asked(MODEL["job"], held) == job.model_dump_json(exclude={"model"})


def test_a_job_that_is_no_json_stays() -> None:
    for text in ("not JSON", "[]", '{"id":"a"}'):
        held = pa.table({"job": [text]})
        assert asked(MODEL["job"], held) == text
        assert asked(MODEL["model_id"], held) is None
