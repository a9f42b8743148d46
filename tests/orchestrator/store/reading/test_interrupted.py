"""Ctrl-C in the middle of DuckDB's work is Ctrl-C, not a bug."""

import os
import signal
from collections.abc import Iterator
from threading import Timer

import duckdb
import pytest

from orchestrator.store.file.connect import explained, interruptible


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    """A job in a shell's background is started deaf to Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_statement() -> None:
    kick = Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT sum(hash(i)) FROM range(3000000000) AS t(i)")
        kick.start()
        with pytest.raises(KeyboardInterrupt), explained("working", "never mind"):
            relation.to_arrow_reader(10)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a bug"), explained("working", "never mind"):
        raise RuntimeError("a bug")


@interruptible()
def ask(connection: duckdb.DuckDBPyConnection) -> None:
    relation = connection.sql("SELECT sum(hash(i)) FROM range(3000000000) AS t(i)")
    Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    relation.to_arrow_reader(10)


def test_a_function_may_be_interrupted_as_a_whole() -> None:
    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt):
        ask(connection)
