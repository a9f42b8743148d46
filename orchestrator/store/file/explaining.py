"""DuckDB's errors in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from orchestrator.errors import StoreError

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
    message = str(error).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())
