"""Rows that DuckDB answers."""

from duckdb import DuckDBPyConnection

from runner.record import Row, rows


def fetch(connection: DuckDBPyConnection, sql: str, *parameters: object) -> list[Row]:
    """The rows that a SELECT answers."""
    return rows(connection.sql(sql, params=list(parameters)).to_arrow_table())


def count_rows(connection: DuckDBPyConnection, database: str | None = None) -> dict[str, int]:
    """Rows by table of an attached database, or of the one that was opened."""
    tables = fetch(
        connection,
        "SELECT database_name || '.' || table_name AS place, table_name AS name"
        " FROM duckdb_tables() WHERE database_name = coalesce(?, current_database()) ORDER BY name",
        database,
    )
    return {
        each["name"]: fetch(connection, f"SELECT count(*) AS rows FROM {each['place']}")[0]["rows"]
        for each in tables
    }
