"""What kind of database a file is, and whether this AccelMatrix can work with it."""

from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store.schema.migrations import OLDEST
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, VERSION
from runner import __version__


class OlderSchema(StoreError):
    """The database has a schema that can be brought forward."""


@dataclass(frozen=True)
class Kind:
    """What kind of database this is."""

    version: int
    scratch: bool


def kind_of(connection: DuckDBPyConnection, path: Path) -> Kind:
    """What kind of database this is, of whichever version.

    Raises:
        StoreError: it is not ours.
    """
    columns = _columns(connection)
    if {"version", "scratch"} - columns.get(VERSION.name, set()):
        raise StoreError(
            f"{path}: a DuckDB database, but not one of AccelMatrix",
            hint="name another file with `--database`",
        )
    found = connection.execute(f"SELECT version, scratch FROM {VERSION.name}").fetchall()
    return Kind(*(found[0] if found else (0, False)))


def recognise(connection: DuckDBPyConnection, path: Path) -> Kind:
    """What kind of database this is, provided that this AccelMatrix can work with it.

    Raises:
        OlderSchema: it could, once the database has been brought forward.
        StoreError: it is not ours, or has another schema.
    """
    kind = kind_of(connection, path)
    _check_version(kind.version, path)
    columns = _columns(connection)
    for table in TABLES:
        if columns.get(table.name) != {column.name for column in table.columns}:
            raise StoreError(
                f"{path}: table {table.name} does not have the columns of schema {STORE_VERSION}",
                hint="merge the Parquet files into a new database: `orchestrator merge`",
            )
    return kind


def _columns(connection: DuckDBPyConnection) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    rows = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main'"
    ).fetchall()
    for table, column in rows:
        found.setdefault(table, set()).add(column)
    return found


def _check_version(version: int, path: Path) -> None:
    if version > STORE_VERSION:
        raise StoreError(
            f"{path}: has schema {version}, and this AccelMatrix {__version__} knows up to"
            f" {STORE_VERSION}",
            hint="install the newer AccelMatrix that wrote it",
        )
    if version < OLDEST:
        raise StoreError(
            f"{path}: has the older schema {version}; this AccelMatrix brings forward those from"
            f" {OLDEST} on",
            hint="merge the Parquet files into a new database: `orchestrator merge`",
        )
    if version < STORE_VERSION:
        raise OlderSchema(f"{path}: has the older schema {version}")
