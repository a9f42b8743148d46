"""The schema: how it is made, recognised and documented."""

from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store.schema.columns import Column
from orchestrator.store.schema.migrations import OLDEST, migrate
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, VERSION, comments
from orchestrator.store.schema.views import VIEWS
from runner import __version__


class OlderSchema(StoreError):
    """The database has a schema that can be brought forward."""


@dataclass(frozen=True)
class Kind:
    """What kind of database this is."""

    version: int
    scratch: bool


def create_schema(connection: DuckDBPyConnection, *, scratch: bool) -> None:
    """Make tables and views in an empty database."""
    connection.begin()
    for relation in (*TABLES, *VIEWS):
        connection.execute(relation.ddl)
    connection.execute(
        f"INSERT INTO {VERSION.name} VALUES (?, ?, now(), ?)",
        [STORE_VERSION, scratch, __version__],
    )
    connection.commit()


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


def bring_forward(connection: DuckDBPyConnection, version: int) -> None:
    """Make a database of an older version one of ours, all or nothing; its views anew."""
    connection.begin()
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary"
    for (view,) in connection.execute(views).fetchall():
        connection.execute(f"DROP VIEW {view}")
    migrate(connection, version, STORE_VERSION)
    for table in TABLES:
        for comment in comments("TABLE", table.name, table.doc, table.columns):
            connection.execute(comment)
    for view in VIEWS:
        connection.execute(view.ddl)
    connection.commit()


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


def schema_markdown() -> str:
    """The documentation of tables and views, for docs/schema.md."""
    lines = [
        "# The database",
        "",
        "<!-- Generated from the code; a change here is lost. -->",
        "",
        f"Schema version {STORE_VERSION}. The same words are the comments in the database itself:",
        "`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'benchmark_runs'`.",
        "Base units in tables, customary ones in views; null says `not known`.",
        "[Ask your results](ask.md) shows them at work.",
        "",
        "## Tables",
        "",
    ]
    for table in TABLES:
        lines += _section(table.name, table.doc, table.columns)
    lines += ["## Views", ""]
    for view in VIEWS:
        lines += _section(view.name, view.doc, view.columns)
    return "\n".join(lines[:-1]) + "\n"


def _section(name: str, doc: str, columns: tuple[Column, ...]) -> list[str]:
    rows = [f"| `{column.name}` | {column.type} | {_meaning(column)} |" for column in columns]
    return [f"### {name}", "", doc, "", "| column | type | meaning |", "|---|---|---|", *rows, ""]


def _meaning(column: Column) -> str:
    allowed = ", ".join(f"`{value}`" for value in column.allowed)
    return f"{column.doc} One of {allowed}." if allowed else column.doc


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
