"""Questions in SQL, asked of a database that cannot be changed by asking."""

import csv
import io
import json
import math
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestrator.errors import StoreError
from orchestrator.store.connect import explained
from orchestrator.store.forward import open_current
from orchestrator.store.rows import rows
from orchestrator.store.store import WAIT_S, require_database

_SEAL = "SET enable_external_access = false; SET lock_configuration = true"


def query(path: Path, sql: str, *, wait_s: float = WAIT_S) -> pa.Table:
    """The answer to a question in SQL, as an Arrow table.

    The database is opened read-only, and the statement reaches no other file and no setting.

    Raises:
        StoreError: there is no database, it is being written for longer than `wait_s` seconds,
            or the statement is wrong; the message keeps DuckDB's suggestion of names.
    """
    require_database(path)
    with (
        open_current(path, read_only=True, wait_s=wait_s)[0] as connection,
        explained("the query failed", "docs/schema.md names tables, views and columns"),
    ):
        connection.execute(_SEAL)
        relation = connection.sql(sql)
        if relation is None:
            raise StoreError(
                "the query has no result",
                hint='ask with SELECT, e.g. "SELECT * FROM benchmark_performance"',
            )
        return _distinct_names(relation.to_arrow_table())


def to_csv(table: pa.Table) -> str:
    """The table as CSV with a header; lists and maps as JSON, null as an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_csv_value(value) for value in row.values()] for row in rows(table))
    return text.getvalue()


def to_json(table: pa.Table) -> str:
    """The table as a JSON list with one object a row; a number that is not finite becomes null."""
    return json.dumps([_plain(row) for row in rows(table)], indent=2, ensure_ascii=False)


def _distinct_names(table: pa.Table) -> pa.Table:
    """Give a second column of the same name a number, as DuckDB does in `CREATE TABLE AS`."""
    taken: list[str] = []
    for name in table.column_names:
        number, free = 0, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.append(free)
    return table.rename_columns(taken)


def _csv_value(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(_plain(value), ensure_ascii=False)
    return value if isinstance(value, float) else _plain(value)


def _plain(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else str(value)
