"""Versions of the database: recognised, created, upgraded and compared with the code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.schema.migrations import OLDEST, migrate
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, VERSION, comments
from orchestrator.store.schema.views import VIEWS
from runner import __version__
from runner.contract.errors import StoreError


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
    columns = _columns(connection)
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
    version = read_version(connection, path)
    _check_version(version.number, path)
    if not version.is_older:
        _check_columns(connection, path)
    return version


def _check_columns(connection: DuckDBPyConnection, path: Path) -> None:
    columns = _columns(connection)
    for table in TABLES:
        if columns.get(table.name) != {column.name for column in table.columns}:
            raise StoreError(
                f"{path}: table {table.name} does not have the columns of schema {STORE_VERSION}",
                hint="merge the Parquet files into a new database: `orchestrator merge`",
            )


def _columns(connection: DuckDBPyConnection) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    rows = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main'"
    ).fetchall()
    for table, column in rows:
        columns.setdefault(table, set()).add(column)
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


_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary"


def create_schema(connection: DuckDBPyConnection) -> None:
    """Make tables and views in an empty database."""
    connection.begin()
    for relation in (*TABLES, *VIEWS):
        connection.execute(relation.ddl)
    connection.commit()


def write_version(connection: DuckDBPyConnection, *, scratch: bool) -> None:
    """Write the version of a new database, and the rows that it takes."""
    connection.execute(
        f"INSERT INTO {VERSION.name} VALUES (?, ?, now(), ?)",
        [STORE_VERSION, scratch, __version__],
    )


def upgrade_schema(connection: DuckDBPyConnection, version: int) -> None:
    """Upgrade a database of an older version, all or nothing, and define its views anew."""
    connection.begin()
    for (view,) in connection.execute(_VIEWS).fetchall():
        connection.execute(f"DROP VIEW {view}")
    migrate(connection, version, STORE_VERSION)
    redefine_views(connection)
    connection.commit()


def redefine_views(connection: DuckDBPyConnection) -> None:
    """Make views and comments as the code has them; tables keep their columns."""
    existing = {name for (name,) in connection.execute(_VIEWS).fetchall()}
    for view in VIEWS:
        if view.name in existing:
            connection.execute(f"DROP VIEW {view.name}")
    for view in VIEWS:
        connection.execute(view.ddl)
    for table in TABLES:
        for comment in comments("TABLE", table.name, table.doc, table.columns):
            connection.execute(comment)


_RELATIONS = """
    SELECT table_name AS name, 'table' AS kind, NULL AS sql, comment FROM duckdb_tables()
    WHERE NOT internal AND NOT temporary
    UNION ALL
    SELECT view_name, 'view', sql, comment FROM duckdb_views() WHERE NOT internal AND NOT temporary
"""
_COLUMNS = """
    SELECT table_name || '.' || column_name AS name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal AND database_name NOT IN ('temp', 'system')
"""
_IS = "is "
Definition = Mapping[str, tuple[str | None, ...]]


def schema_differences(connection: DuckDBPyConnection) -> dict[str, str]:
    """Definitions that were altered by hand: tables, views and columns with their differences."""
    return dict(sorted(_differences(_expected(), _definition(connection))))


def retyped_columns(altered: Mapping[str, str]) -> dict[str, str]:
    """Those of the schema_differences that are a table's columns of another type than ours."""
    ours = {f"{table.name}.{column.name}" for table in TABLES for column in table.columns}
    return {name: how for name, how in altered.items() if name in ours and how.startswith(_IS)}


def foreign_relations(connection: DuckDBPyConnection) -> list[str]:
    """Tables and views that somebody else made in this database."""
    ours = {relation.name for relation in (*TABLES, *VIEWS)}
    rows = connection.execute(f"SELECT name FROM ({_RELATIONS}) ORDER BY name").fetchall()
    return [name for (name,) in rows if name not in ours]


@cache
def _expected() -> Definition:
    with duckdb.connect() as connection:
        create_schema(connection)
        return _definition(connection)


def _definition(connection: DuckDBPyConnection) -> Definition:
    relations = connection.execute(_RELATIONS).fetchall()
    columns = connection.execute(_COLUMNS).fetchall()
    return {name: tuple(facts) for name, *facts in (*relations, *columns)}


def _differences(expected: Definition, actual: Definition) -> Iterator[tuple[str, str]]:
    for name, (first, *facts, comment) in expected.items():
        if name not in actual:
            yield name, "is missing"
            continue
        actual_first, *actual_facts, actual_comment = actual[name]
        if actual_first != first:
            yield name, f"{_IS}{actual_first}, not {first}"
        elif actual_facts != facts:
            yield name, "asks something else"
        elif actual_comment != comment:
            yield name, "has another comment"
