"""DuckDB's errors in our words."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from runner.contract.errors import StoreError

_INTERRUPTED = "Query interrupted"


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be what it is, since DuckDB makes an error of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def explained(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done."""
    with interruptible():
        try:
            yield
        except duckdb.Error as error:
            raise StoreError(f"{doing}: {explain(error)}", hint=hint) from error


def explain(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement."""
    message = _of_a_thread(str(error)).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())


def _of_a_thread(message: str) -> str:
    """What one of DuckDB's threads met comes as JSON inside of another error."""
    start = message.find('{"exception_type"')
    if start < 0:
        return message
    try:
        found = json.loads(message[start:])
        return f"{found['exception_type']} Error: {found['exception_message']}"
    except (ValueError, KeyError):
        return message
