"""A database as questions reach it: read-only, and with nothing else in reach."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.file.explaining import explained
from orchestrator.store.file.forward import open_current

_IS_SEALED = "SELECT current_setting('lock_configuration')"
_SEAL = "SET enable_external_access = false; SET lock_configuration = true"


@contextmanager
def sealed(path: Path, wait_s: float) -> Iterator[DuckDBPyConnection]:
    """A connection that can change nothing, reaches no other file, and whose settings are locked.

    Settings are those of all this process's connections to the file, so whoever else reads it here
    is sealed as well. An instance with settings of its own would not do: DuckDB's lock belongs to
    the process, and closing a second handle of the file ends it for the first.

    Raises:
        StoreError: the database is being written for longer than `wait_s` seconds, or not ours.
    """
    with open_current(path, read_only=True, wait_s=wait_s)[0] as connection:
        with explained(f"{path}: cannot be read", "restore it, or merge into a new one"):
            _seal(connection)
        yield connection


def _seal(connection: DuckDBPyConnection) -> None:
    ((is_sealed,),) = connection.execute(_IS_SEALED).fetchall()
    if not is_sealed:
        connection.execute(_SEAL)
