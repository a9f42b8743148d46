"""Ctrl-C is heard while DuckDB works, however many statements there are, and undoes them."""

from collections.abc import Callable

import duckdb
import pytest

from orchestrator.store.database.connect import transaction
from orchestrator.system.threads import InterruptibleThread

LONG = "SELECT sum(hash(i)) FROM range(1000000000000) AS t(i)"


def test_what_the_work_returns_and_raises_is_passed_on() -> None:
    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        assert thread.wait_for(lambda: connection.execute("SELECT 1").fetchall()) == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            thread.wait_for(lambda: connection.execute("FROM nothing"))


def test_ctrl_c_ends_each_of_several_statements(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        for _ in range(3):
            with pytest.raises(duckdb.InterruptException):
                connection.execute(LONG)

    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            thread.wait_for(work)


def test_ctrl_c_ends_work_between_statements_too(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        while True:
            thread.check_interrupt()

    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            thread.wait_for(work)


def test_a_transaction_that_ctrl_c_ends_is_undone(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        with transaction(connection):
            connection.execute("INSERT INTO kept VALUES (1)")
            connection.execute(LONG)

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE kept (number INTEGER)")
        with InterruptibleThread(connection.interrupt) as thread:
            ctrl_c()
            with pytest.raises(KeyboardInterrupt):
                thread.wait_for(work)
        assert connection.execute("FROM kept").fetchall() == []
