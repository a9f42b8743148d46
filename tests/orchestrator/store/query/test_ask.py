"""Questions in SQL, or by a name alone, and the examples of the page."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.query.ask import asking, query
from orchestrator.store.query.relations import RELATIONS, named_question
from orchestrator.store.schema.tables import TABLES
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from runner.contract.record.files import save_record
from tests.orchestrator.store.query.conftest import FORBIDDEN_QUESTIONS
from tests.support.records import NOISY, a_failure, a_record
from tests.support.side_by_side import a_candidate, paced_rounds


def test_a_wrong_column_keeps_the_suggestion(asked: Path) -> None:
    with pytest.raises(UsageError) as caught:
        query(asked, "SELECT throughputt FROM benchmark_performance")
    message = str(caught.value)
    assert '"throughput"' in message
    assert "LINE 1" not in message
    assert len(message.splitlines()) <= 2
    assert "--wide" in str(caught.value.hint)


@pytest.fixture(scope="module")
def unharmed(two_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
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
def test_no_question_no_answer(asked: Path, sql: str) -> None:
    with pytest.raises(UsageError, match="has no result"):
        query(asked, sql)


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
def test_every_kind_of_question_is_answered(asked: Path, sql: str, rows: int | None) -> None:
    found = query(asked, sql).num_rows
    assert found == rows if rows else found > 0


def test_a_question_may_be_asked_while_the_store_is_open(filled: Path) -> None:
    with Store.open_readonly(filled) as store:
        for _ in range(2):
            assert query(filled, "SELECT count(*) AS n FROM benchmark_results").num_rows == 1
        assert len(store.runs()) == 1
    with Store.open(filled) as store:
        assert len(store.runs()) == 1


def test_a_huge_answer_does_not_have_to_fit_into_memory(asked: Path) -> None:
    with asking(asked, "SELECT * FROM range(1000000000000)") as answer:
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
def test_the_hint_fits_the_kind_of_error(asked: Path, sql: str, hint: str) -> None:
    with pytest.raises(UsageError, match="the query failed") as caught:
        query(asked, sql)
    assert "LINE 1" not in str(caught.value)
    assert hint in str(caught.value.hint)


def test_times_are_shown_in_utc(asked: Path) -> None:
    table = query(asked, "SELECT TIMESTAMPTZ '2026-11-21 12:00:00+02'::VARCHAR AS t")
    assert table.to_pydict() == {"t": ["2026-11-21 10:00:00+00"]}


def test_columns_of_the_same_name_are_told_apart(asked: Path) -> None:
    assert query(asked, "SELECT 1 AS a, 2 AS a, 3 AS a").column_names == ["a", "a_1", "a_2"]


def test_a_database_that_is_being_written_says_so(filled: Path) -> None:
    with Store.open(filled), pytest.raises(StoreError, match="still in use"):
        query(filled, "SELECT 1", wait_s=0)


WIDTH = 80
GAP = 2


def test_every_view_and_table_has_a_line_that_fits_a_terminal() -> None:
    assert {relation.name for relation in RELATIONS} == {known.name for known in (*TABLES, *VIEWS)}
    longest = max(len(relation.name) for relation in RELATIONS)
    assert all(longest + GAP + len(relation.use) <= WIDTH for relation in RELATIONS)


@pytest.mark.parametrize("name", ["latest_results", "benchmark_performance", "history"])
def test_results_are_shown_with_their_medians_on_the_narrowest_terminal(name: str) -> None:
    columns = next(relation.columns for relation in RELATIONS if relation.name == name)
    shown = columns[: columns.index("latency_median_ms") + 1]
    longest = {"model": "bert-base-uncased", "runtime": "torch_compile"}
    widths = [max(len(column), len(longest.get(column, ""))) for column in shown]
    assert {"cell_id", "measured_at"}.isdisjoint(shown)
    assert sum(widths) + GAP * (len(shown) - 1) <= WIDTH


def test_the_question_behind_each_name_can_be_asked(database: Path) -> None:
    Store.open(database).close()
    columns = {known.name: len(known.columns) for known in (*TABLES, *VIEWS)}
    with duckdb.connect(database, read_only=True) as connection:
        for relation in RELATIONS:
            short = named_question(relation.name, wide=False)
            whole = named_question(f" {relation.name.upper()}; ", wide=True)
            assert short is not None
            assert whole is not None
            shown = len(connection.sql(short.sql).columns)
            assert shown + short.left_out == len(connection.sql(whole.sql).columns)
            assert (whole.left_out, columns[relation.name]) == (0, shown + short.left_out)


@pytest.mark.parametrize("sql", ["SELECT 1", "FROM history", "", "(SELECT 1)", "history h"])
def test_a_statement_stays_as_it_is(sql: str) -> None:
    assert named_question(sql, wide=False) is None


def test_a_name_that_is_none_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean latest_results") as caught:
        named_question("latest_result", wide=False)
    assert "orchestrator query" in str(caught.value.hint)


PAGE = Path(__file__).parents[4] / "docs" / "ask.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    site = tmp_path_factory.mktemp("site")
    folder = site / "results" / "run"
    folder.mkdir(parents=True)
    for record in (
        a_record(batch_size=1),
        a_record(batch_size=8, throughput=900.0),
        a_record(batch_size=8, throughput=1200.0, precision="bf16"),
        a_record(batch_size=4, correct=False, correct_reason="beyond the tolerance"),
        a_record(batch_size=2, rounds=3, drift=0.01, drift_p_value=0.4, doubts=[NOISY]),
        a_record(mode="generation", new_tokens=32, part_durations_ns={"first_token": [20_000_000]}),
        a_record(mode="training", flops_per_iteration=10**9, bytes_per_iteration=10**7),
        a_record(mode="startup"),
        a_record(scenario="server", target_qps=50.0, achieved_qps=49.0),
        a_record(
            scenario="offline",
            offline_batches=[1],
            offline_queries=[30],
            offline_throughputs=[250.0],
            offline_latencies_s=[0.004],
            offline_memory_bytes=[10**8],
        ),
        a_failure("out_of_memory", "killed at 2 GB", batch_size=512),
        a_candidate(paced_rounds(0.010, 3), sequence_length=64),
        a_candidate(paced_rounds(0.008, 3), sequence_length=64, runtime="onnxruntime"),
    ):
        save_record(record, folder)
    with Store.open(site / "results" / "benchmarks.duckdb") as store:
        store.merge([folder])
    with Store.open_readonly(store.path):
        yield site


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("sql", EXAMPLES, ids=lambda sql: " ".join(sql.split())[:40])
def test_an_example_answers(site: Path, sql: str) -> None:
    assert query(site / "results" / "benchmarks.duckdb", sql).num_rows > 0


def test_the_python_example_prints_the_run(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    (code,) = PYTHON
    exec(code, {})
    assert capsys.readouterr().out == "20261121-120000-abcd {'ok': 12, 'out_of_memory': 1}\n"
