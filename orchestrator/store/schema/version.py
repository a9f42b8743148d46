"""Versions of the database: read and checked when one is opened."""

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.schema.tables import OLDEST, STORE_VERSION, TABLES, VERSION
from runner import __version__
from runner.contract.errors import StoreError

_TABLE = "TABLE_RELATION"
"""DuckDB's name for the relation of a table."""


@dataclass(frozen=True)
class DatabaseVersion:
    """The version of a database's schema, and the rows that it takes."""

    number: int
    scratch: bool
    """True if it takes fake and synthetic rows."""

    @property
    def is_older(self) -> bool:
        """True if its schema can be upgraded to this one."""
        return self.number < STORE_VERSION


def read_version(connection: DuckDBPyConnection, path: Path) -> DatabaseVersion:
    """The version of a database of AccelMatrix, whichever it is.

    Raises:
        StoreError: it is not ours.
    """
    return _version_of(connection, path, _columns(connection))


def _version_of(
    connection: DuckDBPyConnection, path: Path, columns: Mapping[str, Set[str]]
) -> DatabaseVersion:
    if {"version", "scratch"} - columns.get(VERSION.name, set()):
        raise StoreError(
            f"{path}: a DuckDB database, but not one of AccelMatrix",
            hint="name another file with `--database`",
        )
    rows = connection.execute(f"SELECT version, scratch FROM {VERSION.name}").fetchall()
    return DatabaseVersion(*(rows[0] if rows else (0, False)))


def require_known_version(connection: DuckDBPyConnection, path: Path) -> DatabaseVersion:
    """The version of a database that has this schema, or an older one that can be upgraded.

    Raises:
        StoreError: it is not ours, or has another schema.
    """
    columns = _columns(connection)
    version = _version_of(connection, path, columns)
    _check_version(version.number, path)
    if not version.is_older:
        _check_columns(columns, path)
    return version


def _check_columns(columns: Mapping[str, Set[str]], path: Path) -> None:
    for table in TABLES:
        if columns.get(table.name) != {column.name for column in table.columns}:
            raise StoreError(
                f"{path}: table {table.name} does not have the columns of schema {STORE_VERSION}",
                hint="merge the Parquet files into a new database: `orchestrator merge`",
            )


def _columns(connection: DuckDBPyConnection) -> dict[str, set[str]]:
    """Names of columns by table, of our tables that are there.

    DuckDB's own lists, `duckdb_columns` and `duckdb_tables`, take longer than all else here.
    """
    columns: dict[str, set[str]] = {}
    for table in TABLES:
        with suppress(duckdb.CatalogException):
            relation = connection.table(table.name)
            if relation.type == _TABLE:  # a view may have taken its place
                columns[table.name] = set(relation.columns)
    return columns


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
