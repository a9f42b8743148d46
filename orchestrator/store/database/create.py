"""New databases, with all tables and views."""

from pathlib import Path

import duckdb

from orchestrator.store.database.connect import duckdb_message, interruptible
from orchestrator.store.database.lock import delete_database, wal_path
from orchestrator.store.schema.definition import create_schema, write_version
from orchestrator.system.files import file_hint
from runner.contract.errors import StoreError


@interruptible()
def create(path: Path, *, scratch: bool) -> None:
    """Make a new database under a temporary name, then give it its own; call with the lock held.

    Raises:
        StoreError: the file system refuses.
    """
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.new")
    try:
        delete_database(unfinished)
        wal_path(path).unlink(missing_ok=True)
        write_blank(unfinished, scratch=scratch)
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        delete_database(unfinished)
        raise StoreError(
            f"{path}: cannot be created: {duckdb_message(error)}",
            hint=file_hint(error),
        ) from error


def write_blank(path: Path, *, scratch: bool) -> None:
    """Write a new database with all tables and views, its version and no other row.

    Raises:
        duckdb.Error: the file system refuses.
    """
    with duckdb.connect(path) as connection:
        create_schema(connection)
        write_version(connection, scratch=scratch)
