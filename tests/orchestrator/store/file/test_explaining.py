"""Ctrl-C in the middle of DuckDB's work is Ctrl-C, not a bug."""

from collections.abc import Callable

import duckdb
import pytest

from orchestrator.store.file.explaining import explained, interruptible

LONG = "SELECT sum(hash(i)) FROM range(3000000000) AS t(i)"


def test_ctrl_c_ends_a_statement(ctrl_c: Callable[[], None]) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(LONG)
        ctrl_c()
        with pytest.raises(KeyboardInterrupt), explained("working", "never mind"):
            relation.to_arrow_reader(10)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a bug"), explained("working", "never mind"):
        raise RuntimeError("a bug")


def test_a_function_may_be_interrupted_as_a_whole(ctrl_c: Callable[[], None]) -> None:
    @interruptible()
    def ask(connection: duckdb.DuckDBPyConnection) -> None:
        relation = connection.sql(LONG)
        ctrl_c()
        relation.to_arrow_reader(10)

    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt):
        ask(connection)
