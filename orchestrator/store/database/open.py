"""Databases of this schema are made and opened; others, and those of strangers, are refused."""

import shlex
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import (
    connect,
    delete_database,
    duckdb_message,
    interruptible,
    wal_path,
)
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, VERSION
from orchestrator.store.schema.views import VIEWS
from orchestrator.system.files import database_option, file_hint
from runner import __version__
from runner.contract.errors import StoreError

MANIFEST = "manifest.json"
"""The name of the file that makes a folder a snapshot."""
_TABLE = "TABLE_RELATION"
"""DuckDB's name for the relation of a table."""


@dataclass(frozen=True)
class DatabaseKind:
    """The schema of a database, and the rows that it takes."""

    schema: int
    scratch: bool
    """True if it takes fake and synthetic rows."""


def open_current(
    path: Path, *, read_only: bool, wait_s: float
) -> tuple[DuckDBPyConnection, DatabaseKind]:
    """Open a database of this schema; to write, hold the lock."""
    connection = connect(path, read_only=read_only, wait_s=wait_s)
    try:
        columns = _columns(connection)
        kind = _kind_of(connection, path, columns)
        require_schema(kind.schema, path)
        for table in TABLES:
            if columns.get(table.name) != {column.name for column in table.columns}:
                raise StoreError(
                    f"{path}: table {table.name} does not have the columns of schema"
                    f" {STORE_VERSION}",
                    hint=rebuild_hint(path),
                )
    except BaseException:
        connection.close()
        raise
    return connection, kind


def read_kind(connection: DuckDBPyConnection, path: Path) -> DatabaseKind:
    """The kind of a database of AccelMatrix, whichever schema it has."""
    return _kind_of(connection, path, _columns(connection))


def require_schema(schema: int, path: Path) -> None:
    if schema != STORE_VERSION:
        is_kept = schema > STORE_VERSION or (path.parent / MANIFEST).exists()
        raise StoreError(
            f"{path}: has schema {schema}, and this AccelMatrix works with {STORE_VERSION}",
            hint="install the AccelMatrix that wrote it" if is_kept else rebuild_hint(path),
        )


def rebuild_hint(path: Path) -> str:
    command = shlex.join(["orchestrator", "database", "rebuild", *database_option(path)])
    return f"`{command}` makes it anew from its record files"


def _kind_of(
    connection: DuckDBPyConnection, path: Path, columns: Mapping[str, Set[str]]
) -> DatabaseKind:
    if {"version", "scratch"} - columns.get(VERSION.name, set()):
        raise StoreError(
            f"{path}: a DuckDB database, but not one of AccelMatrix",
            hint="name another file with `--database`",
        )
    rows = connection.execute("SELECT version, scratch FROM schema_version").fetchall()
    return DatabaseKind(*(rows[0] if rows else (0, False)))


def _columns(connection: DuckDBPyConnection) -> dict[str, set[str]]:
    """Names of columns by table, of our tables that are there; DuckDB's own lists take longer."""
    columns: dict[str, set[str]] = {}
    for table in TABLES:
        with suppress(duckdb.CatalogException):
            relation = connection.table(table.name)
            if relation.type == _TABLE:  # a view may have taken its place
                columns[table.name] = set(relation.columns)
    return columns


@interruptible()
def create(path: Path, *, scratch: bool) -> None:
    """Make a new database under a temporary name, then give it its own; call with the lock held."""
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
            f"{path}: cannot be created: {duckdb_message(error)}", hint=file_hint(error)
        ) from error


def write_blank(path: Path, *, scratch: bool) -> None:
    """Write a new database without rows, but for its version."""
    with duckdb.connect(path) as connection:
        connection.execute("PRAGMA disable_optimizer")  # most of 1,700 statements are comments
        create_schema(connection)
        connection.execute(
            "INSERT INTO schema_version VALUES (?, ?, now(), ?, NULL)",
            [STORE_VERSION, scratch, __version__],
        )


def create_schema(connection: DuckDBPyConnection) -> None:
    connection.begin()
    for relation in (*TABLES, *VIEWS):
        connection.execute(relation.ddl)
    connection.commit()
