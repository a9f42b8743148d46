"""Whether tables, views and comments are those of this code."""

from collections.abc import Iterator, Mapping
from functools import cache

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.schema.making import create_schema
from orchestrator.store.schema.tables import TABLES
from orchestrator.store.schema.views import VIEWS

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
