"""The tables say what a record's fields say, in the database and in docs/schema.md."""

import re
from pathlib import Path

import duckdb

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
    SqlColumn,
)
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.record.record import Record
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


def test_raw_durations_are_lists_of_integers() -> None:
    types = {column.name: column.type for column in RAW.columns[1:]}
    assert types.pop("part_durations_ns") == "MAP(VARCHAR, BIGINT[])"
    assert set(types.values()) == {"BIGINT[]"}


def test_a_run_becomes_a_row_of_benchmark_runs() -> None:
    assert [column.name for column in RUNS.columns][:-1] == list(Run.model_fields)


def test_a_literal_field_knows_its_values() -> None:
    precision = next(column for column in RECORD if column.name == "precision")
    assert precision.allowed == ("fp32", "bf16", "fp16", "int8")
    assert precision.definition == "precision VARCHAR NOT NULL"


def test_an_optional_field_is_nullable() -> None:
    assert SqlColumn("a", "BIGINT", "").definition == "a BIGINT"
    assert next(column for column in RECORD if column.name == "sequence_length").nullable


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
