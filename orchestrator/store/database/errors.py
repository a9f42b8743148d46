"""Translate DuckDB's errors into StoreErrors and KeyboardInterrupt."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from runner.contract.errors import StoreError

_INTERRUPTED = "Query interrupted"


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt where DuckDB makes a RuntimeError of Ctrl-C."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def store_errors(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done."""
    with interruptible():
        try:
            yield
        except duckdb.Error as error:
            raise StoreError(f"{doing}: {duckdb_message(error)}", hint=hint) from error


def duckdb_message(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement."""
    message = _of_a_thread(str(error)).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())


def _of_a_thread(message: str) -> str:
    """The message of an error of one of DuckDB's threads, which is JSON inside of another error."""
    start = message.find('{"exception_type"')
    if start < 0:
        return message
    try:
        error = json.loads(message[start:])
        return f"{error['exception_type']} Error: {error['exception_message']}"
    except (ValueError, KeyError):
        return message
