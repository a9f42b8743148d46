"""Ids as SQL makes them are those of the runner, whatever the facts say."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.schema.parquet_columns import ENVIRONMENT_ID
from runner.contract.record.files import to_table
from runner.contract.record.ids import ENVIRONMENT_FACTS
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
    assert asked(ENVIRONMENT_ID, table) == record.environment_id
