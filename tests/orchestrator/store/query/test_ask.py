"""Asking in SQL changes nothing, reaches nothing else, and explains what was wrong."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.query.ask import asking, query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from tests.orchestrator.store.query.conftest import FORBIDDEN_QUESTIONS


def test_no_database_says_what_to_do(database: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet") as caught:
        query(database, "SELECT 1")
    assert "orchestrator bench" in str(caught.value.hint)


def test_a_wrong_column_keeps_the_suggestion(filled: Path) -> None:
    with pytest.raises(UsageError) as caught:
        query(filled, "SELECT throughputt FROM benchmark_performance")
    message = str(caught.value)
    assert '"throughput"' in message
    assert "LINE 1" not in message
    assert len(message.splitlines()) <= 2
    assert "--wide" in str(caught.value.hint)


@pytest.fixture(scope="module")
def unharmed(two_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A database with two results, which nothing that is asked changes."""
    database = Path(shutil.copy(two_results, tmp_path_factory.mktemp("unharmed")))
    before = database.read_bytes()
    yield database
    assert database.read_bytes() == before
    assert query(database, "SELECT count(*) AS n FROM benchmark_results").to_pydict() == {"n": [2]}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_no_question_can_do_harm(
    unharmed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("a\n1\n")
    before = sorted(tmp_path.iterdir())
    for sql in FORBIDDEN_QUESTIONS[::every]:
        message = ""
        try:
            query(unharmed, sql)
        except UsageError as error:
            message = str(error)
        assert "the query failed" in message, sql
        assert sorted(tmp_path.iterdir()) == before, sql


@pytest.mark.parametrize("sql", ["", " ; ", "-- nothing"])
def test_no_question_no_answer(filled: Path, sql: str) -> None:
    with pytest.raises(UsageError, match="has no result"):
        query(filled, sql)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1;", 1),
        ("-- why\nSELECT 1 -- because", 1),
        ("VALUES (1), (2)", 2),
        ("FROM benchmark_results", 2),
        ("WITH a AS (SELECT 1) SELECT * FROM a", 1),
        ("DESCRIBE benchmark_results", None),
        ("SHOW TABLES", None),
        ("SUMMARIZE benchmark_results", None),
        ("EXPLAIN SELECT 1", None),
        ("PIVOT benchmark_results ON batch_size USING count(*) GROUP BY model", 1),
        ("SELECT comment FROM duckdb_columns() WHERE table_name = 'benchmark_runs'", None),
    ],
)
def test_every_kind_of_question_is_answered(filled: Path, sql: str, rows: int | None) -> None:
    found = query(filled, sql).num_rows
    assert found == rows if rows else found > 0


def test_a_question_may_be_asked_while_the_store_is_open(filled: Path) -> None:
    with Store.open_readonly(filled) as store:
        for _ in range(2):
            assert query(filled, "SELECT count(*) AS n FROM benchmark_results").num_rows == 1
        assert len(store.runs()) == 1
    with Store.open(filled) as store:
        assert len(store.runs()) == 1


def test_a_huge_answer_does_not_have_to_fit_into_memory(filled: Path) -> None:
    with asking(filled, "SELECT * FROM range(1000000000000)") as answer:
        assert next(answer.batches).num_rows > 0


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT nothing FROM benchmark_results", "orchestrator query` lists views"),
        ("FROM nowhere", "orchestrator query` lists views"),
        ("SELECT nonsense(1)", "orchestrator query` lists views"),
        ("SELECT '1x'::INTEGER", "TRY_CAST"),
        ("SELECT CASE WHEN i > 100000 THEN 'x' ELSE '1' END::INT FROM range(200000) t(i)", "TRY_"),
        ("SELECT 100::TINYINT * 100::TINYINT", "TRY_CAST"),
        ("SELEC 1", "query latest_results` shows"),
        ("FROM 'other.csv'", "this database alone"),
    ],
)
def test_the_hint_fits_the_kind_of_error(filled: Path, sql: str, hint: str) -> None:
    with pytest.raises(UsageError, match="the query failed") as caught:
        query(filled, sql)
    assert "LINE 1" not in str(caught.value)
    assert hint in str(caught.value.hint)


def test_times_are_shown_in_utc(filled: Path) -> None:
    table = query(filled, "SELECT TIMESTAMPTZ '2026-11-21 12:00:00+02'::VARCHAR AS t")
    assert table.to_pydict() == {"t": ["2026-11-21 10:00:00+00"]}


def test_columns_of_the_same_name_are_told_apart(filled: Path) -> None:
    assert query(filled, "SELECT 1 AS a, 2 AS a, 3 AS a").column_names == ["a", "a_1", "a_2"]


def test_a_database_that_is_being_written_says_so(filled: Path) -> None:
    with Store.open(filled), pytest.raises(StoreError, match="still in use"):
        query(filled, "SELECT 1", wait_s=0)
