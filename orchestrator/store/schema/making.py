"""Tables and views are made, and those of older databases made anew."""

from duckdb import DuckDBPyConnection

from orchestrator.store.schema.migrations import migrate
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
