"""Tables, columns and views carry their documentation; ids are those of the runner."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.schema.parquet_columns import ENVIRONMENT_ID
from orchestrator.store.schema.sources import Run
from orchestrator.store.schema.tables import (
    ENVIRONMENTS,
    HARDWARE,
    JOBS,
    MODELS,
    RAW,
    RECORD,
    RESULTS,
    RUNS,
    TABLES,
)
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.record.files import to_table
from runner.contract.record.ids import ENVIRONMENT_FACTS
from runner.contract.record.record import Record
from tests.support.jobs import a_job, fake_cell
from tests.support.records import record_for
from tools.columns import column_docs
from tools.docs.schema import schema_markdown

ROOT = Path(__file__).parents[4]


def test_each_field_of_a_record_has_a_column_with_its_documentation() -> None:
    docs = column_docs(Record)
    documented = {name: docs[name] for name in Record.model_fields}
    assert {column.name: column.doc for column in RECORD} == documented


def test_no_fact_of_a_record_is_dropped_or_kept_twice() -> None:
    tables = (RESULTS, HARDWARE, ENVIRONMENTS, MODELS, RAW, JOBS)
    placed = [column.name for table in tables for column in table.columns]
    assert set(Record.model_fields) <= set(placed)
    shared = {name for name in placed if placed.count(name) > 1}
    ids = {"result_id", "hardware_id", "environment_id", "model_id"}
    assert shared == {*ids, "model", "family", "task", "modality", "seen_at"}


def test_a_run_becomes_a_row_of_benchmark_runs() -> None:
    assert [column.name for column in RUNS.columns][:-1] == list(Run.model_fields)


def test_every_table_view_and_column_carries_its_comment(database: Path) -> None:
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns()"
            " WHERE schema_name = 'main' AND NOT internal"
        ).fetchall()
        relations = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables()"
            " UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
    wanted = {
        (relation.name, column.name, column.doc)
        for relation in (*TABLES, *VIEWS)
        for column in relation.columns
    }
    assert {row for row in columns if row[0] in dict(relations)} == wanted
    assert dict(relations) == {relation.name: relation.doc for relation in (*TABLES, *VIEWS)}


def test_views_have_the_columns_and_types_they_document(database: Path) -> None:
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        for view in VIEWS:
            described = connection.execute(f"DESCRIBE {view.name}").fetchall()
            found = [
                (row[0], row[1].replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"))
                for row in described
            ]
            assert found == [(column.name, column.type) for column in view.columns]


def test_seconds_in_views_are_milliseconds_in_name_and_words() -> None:
    for view in VIEWS:
        for column in view.columns:
            assert column.name.endswith("_ms") == ("millisecond" in column.doc.lower()), column
            assert not re.search(r"(?i)(?<!milli)seconds", column.doc) or (
                column.name.endswith(("_s", "_seconds"))
            ), column


def test_nothing_is_undocumented() -> None:
    for relation in (*TABLES, *VIEWS):
        assert relation.doc
        assert all(column.doc for column in relation.columns), relation.name


def test_the_committed_documentation_is_fresh() -> None:
    assert (ROOT / "docs" / "schema.md").read_text() == schema_markdown()


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
    with duckdb.connect() as connection:
        ((value,),) = connection.from_arrow(table).project(expression).fetchall()
    return value


@pytest.mark.slow
@given(facts)
def test_an_environment_has_the_runners_id(told: dict[str, Any]) -> None:
    record = record_for(a_job(), fake_cell(), **told)
    table = to_table([record]).select(ENVIRONMENT_FACTS)
    assert asked(ENVIRONMENT_ID, table) == record.environment_id
