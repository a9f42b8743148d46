"""What kind of database a file is, and whether this AccelMatrix can work with it."""

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


_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary"


def create_schema(connection: DuckDBPyConnection) -> None:
    """Make tables and views in an empty database."""
    connection.begin()
    for relation in (*TABLES, *VIEWS):
        connection.execute(relation.ddl)
    connection.commit()


def mark_as_made(connection: DuckDBPyConnection, *, scratch: bool) -> None:
    """Write down what kind of database this is from now on."""
    connection.execute(
        f"INSERT INTO {VERSION.name} VALUES (?, ?, now(), ?)",
        [STORE_VERSION, scratch, __version__],
    )


def bring_forward(connection: DuckDBPyConnection, version: int) -> None:
    """Make a database of an older version one of ours, all or nothing; its views anew."""
    connection.begin()
    for (view,) in connection.execute(_VIEWS).fetchall():
        connection.execute(f"DROP VIEW {view}")
    migrate(connection, version, STORE_VERSION)
    define_anew(connection)
    connection.commit()


def define_anew(connection: DuckDBPyConnection) -> None:
    """Make views and comments as the code has them; tables keep their columns."""
    there = {name for (name,) in connection.execute(_VIEWS).fetchall()}
    for view in VIEWS:
        if view.name in there:
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


def differences(connection: DuckDBPyConnection) -> dict[str, str]:
    """What was altered by hand: by name of the table, view or column, how it differs."""
    return dict(sorted(_differences(_expected(), _definition(connection))))


def retyped(altered: Mapping[str, str]) -> dict[str, str]:
    """Those of the differences that are a table's columns of another type than ours."""
    ours = {f"{table.name}.{column.name}" for table in TABLES for column in table.columns}
    return {name: how for name, how in altered.items() if name in ours and how.startswith(_IS)}


def foreign(connection: DuckDBPyConnection) -> list[str]:
    """Tables and views that somebody else made in this database."""
    ours = {each.name for each in (*TABLES, *VIEWS)}
    found = connection.execute(f"SELECT name FROM ({_RELATIONS}) ORDER BY name").fetchall()
    return [name for (name,) in found if name not in ours]


@cache
def _expected() -> Definition:
    with duckdb.connect() as connection:
        create_schema(connection)
        return _definition(connection)


def _definition(connection: DuckDBPyConnection) -> Definition:
    relations = connection.execute(_RELATIONS).fetchall()
    columns = connection.execute(_COLUMNS).fetchall()
    return {name: tuple(facts) for name, *facts in (*relations, *columns)}


def _differences(expected: Definition, found: Definition) -> Iterator[tuple[str, str]]:
    for name, (first, *facts, comment) in expected.items():
        if name not in found:
            yield name, "is missing"
            continue
        first_found, *facts_found, comment_found = found[name]
        if first_found != first:
            yield name, f"{_IS}{first_found}, not {first}"
        elif facts_found != facts:
            yield name, "asks something else"
        elif comment_found != comment:
            yield name, "has another comment"
