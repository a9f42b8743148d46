"""Views and tables by their names alone."""

from pathlib import Path

import duckdb
import pytest

from orchestrator.store.query.relations import RELATIONS, named_question
from orchestrator.store.schema.tables import TABLES
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.errors import UsageError

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
