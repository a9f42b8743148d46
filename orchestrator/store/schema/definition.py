"""Tables and views in a database: made and compared with the code."""

from collections.abc import Iterator, Mapping
from functools import cache

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.schema.tables import STORE_VERSION, TABLES, VERSION, comments
from orchestrator.store.schema.views import VIEWS
from runner import __version__

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
        f"INSERT INTO {VERSION.name} VALUES (?, ?, now(), ?, NULL)",
        [STORE_VERSION, scratch, __version__],
    )


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
