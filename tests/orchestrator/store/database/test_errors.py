"""Ctrl-C in the middle of DuckDB's work is Ctrl-C, not a bug."""

from collections.abc import Callable

import duckdb
import pytest

from orchestrator.store.database.connect import duckdb_message, interruptible, store_errors

LONG = "SELECT sum(hash(i)) FROM range(1000000000) AS t(i)"


@pytest.mark.slow
def test_ctrl_c_ends_a_statement(ctrl_c: Callable[[], None]) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(LONG)
        ctrl_c()
        with pytest.raises(KeyboardInterrupt), store_errors("working", "never mind"):
            relation.to_arrow_reader(10)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a bug"), store_errors("working", "never mind"):
        raise RuntimeError("a bug")


@pytest.mark.slow
def test_a_function_may_be_interrupted_as_a_whole(ctrl_c: Callable[[], None]) -> None:
    @interruptible()
    def ask(connection: duckdb.DuckDBPyConnection) -> None:
        relation = connection.sql(LONG)
        ctrl_c()
        relation.to_arrow_reader(10)

    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt):
        ask(connection)


def test_what_a_thread_met_is_told_in_words() -> None:
    with duckdb.connect() as connection, pytest.raises(duckdb.IOException) as caught:
        connection.execute("COPY (SELECT 1) TO '/dev/full' (FORMAT parquet)")
    told = duckdb_message(caught.value)
    assert told == 'IO Error: Could not write file "/dev/full": No space left on device'


@pytest.mark.parametrize("text", ['x: {"exception_type":"IO"}', 'x: {"exception_type" and no end'])
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert duckdb_message(RuntimeError(text)) == text
