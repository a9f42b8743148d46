"""Arrow tables as plain Python rows."""

from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

Row = dict[str, Any]


def rows(table: pa.Table) -> list[Row]:
    """The table's rows; a map becomes a dict."""
    columns = [_values(table.column(index)) for index in range(table.num_columns)]
    return [
        dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)
    ]


def fetch(connection: DuckDBPyConnection, sql: str, *parameters: object) -> list[Row]:
    """The rows that a SELECT answers."""
    return rows(connection.sql(sql, params=list(parameters)).to_arrow_table())


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if value is None else dict(value) for value in values]
    return values
