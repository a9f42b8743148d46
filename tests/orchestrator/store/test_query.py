"""Asking in SQL changes nothing, reaches nothing else, and explains what was wrong."""

import csv
import io
import json
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.store import Store, query, to_csv, to_json
from tests.orchestrator.store.conftest import Save
from tests.records import a_record


@pytest.fixture
def filled(database: Path, results: Path, save: Save) -> Path:
    save(a_record(batch_size=1), a_record(batch_size=8, grade_reasons=["noisy, "]))
    with Store.open(database) as store:
        store.merge([results])
    return database


def test_an_answer_is_an_arrow_table(filled: Path) -> None:
    table = query(filled, "SELECT batch_size FROM benchmark_results ORDER BY batch_size")
    assert table.to_pydict() == {"batch_size": [1, 8]}


def test_no_database_says_what_to_do(database: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet") as caught:
        query(database, "SELECT 1")
    assert "orchestrator run" in str(caught.value.hint)


def test_a_wrong_column_keeps_the_suggestion(filled: Path) -> None:
    with pytest.raises(StoreError) as caught:
        query(filled, "SELECT throughputt FROM benchmark_performance")
    message = str(caught.value)
    assert '"throughput"' in message
    assert "LINE 1" not in message
    assert len(message.splitlines()) <= 2
    assert "docs/schema.md" in str(caught.value.hint)


def test_a_wrong_view_keeps_the_suggestion(filled: Path) -> None:
    with pytest.raises(StoreError, match=r"Did you mean .*benchmark_performance"):
        query(filled, "SELECT * FROM benchmark_performanc")


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM benchmark_results",
        "DROP VIEW benchmark_performance",
        "COPY benchmark_results TO 'stolen.csv'",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "ATTACH 'other.duckdb'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "INSTALL httpfs",
        "EXPORT DATABASE 'everything'",
    ],
)
def test_a_question_can_do_no_harm(
    filled: Path, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreError, match="the query failed"):
        query(filled, sql)
    assert sorted(tmp_path.iterdir()) == before
    assert query(filled, "SELECT count(*) AS n FROM benchmark_results").to_pydict() == {"n": [2]}


@pytest.mark.parametrize("sql", ["", " ; ", "-- nothing"])
def test_no_question_no_answer(filled: Path, sql: str) -> None:
    with pytest.raises(StoreError, match="has no result"):
        query(filled, sql)


def test_columns_of_the_same_name_are_told_apart(filled: Path) -> None:
    assert query(filled, "SELECT 1 AS a, 2 AS a, 3 AS a").column_names == ["a", "a_1", "a_2"]


def test_csv_reads_back(filled: Path) -> None:
    columns = "cell_id, latency_p90_s, grade_reasons, libraries, recorded_at"
    table = query(
        filled,
        f"SELECT {columns} FROM benchmark_results"
        " JOIN environments USING (environment_id) ORDER BY batch_size",
    )
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert lines[1] == {
        "cell_id": "cpu-bert-tiny-fp32-b8-s128-inference",
        "latency_p90_s": "",
        "grade_reasons": '["noisy, "]',
        "libraries": '{"torch": "2.13.0", "transformers": "5.0.0"}',
        "recorded_at": "2026-11-21T12:00:00+00:00",
    }


def test_an_empty_answer_still_has_its_header(filled: Path) -> None:
    table = query(filled, "SELECT model, hardware FROM benchmark_performance WHERE false")
    assert to_csv(table) == "model,hardware\n"
    assert json.loads(to_json(table)) == []


def test_json_holds_what_json_can_hold(filled: Path) -> None:
    table = query(
        filled,
        "SELECT 1 AS whole, 'NaN'::DOUBLE AS nan, 1.5::DECIMAL(4, 2) AS exact, NULL AS nothing,"
        " true AS yes, DATE '2026-11-21' AS day, MAP {'a': [1, 2]} AS map, {'b': 'ü'} AS struct,"
        " INTERVAL 3 SECONDS AS span",
    )
    (row,) = json.loads(to_json(table))
    assert row.pop("span")
    assert row == {
        "whole": 1,
        "nan": None,
        "exact": "1.50",
        "nothing": None,
        "yes": True,
        "day": "2026-11-21",
        "map": {"a": [1, 2]},
        "struct": {"b": "ü"},
    }


def test_a_database_that_is_being_written_says_so(filled: Path) -> None:
    with Store.open(filled), pytest.raises(StoreError, match="still in use"):
        query(filled, "SELECT 1", wait_s=0)
