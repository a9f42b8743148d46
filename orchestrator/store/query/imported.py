"""Rows of imported files in the database."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import connect, store_errors
from orchestrator.store.database.lock import WAIT_S, is_missing
from orchestrator.store.schema.parquet_columns import KNOWN
from orchestrator.store.schema.tables import ENVIRONMENTS, HARDWARE, JOBS, RAW, RESULTS
from orchestrator.store.schema.version import require_known_version

_TABLES = {"w": RAW, "h": HARDWARE, "e": ENVIRONMENTS, "r": RESULTS}
_ALIAS = {column.name: alias for alias, table in _TABLES.items() for column in table.columns}
_COLUMNS = ", ".join(f"{_ALIAS[name]}.{name}" for name in KNOWN if name in _ALIAS)
_HELD = f"""
    SELECT {_COLUMNS} FROM (SELECT * FROM {RESULTS.name} WHERE run_id IN (SELECT unnest(?))) r
    LEFT JOIN {HARDWARE.name} h USING (hardware_id)
    LEFT JOIN {ENVIRONMENTS.name} e USING (environment_id)
    LEFT JOIN {RAW.name} w USING (result_id)
"""


def imported_rows(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> pa.Table:
    """The rows of these imports with machine, software and raw durations, as they were merged."""
    return connection.sql(_HELD, params=[list(run_ids)]).to_arrow_table()


def imported_rows_at(
    path: Path, run_ids: Sequence[str], *, wait_s: float = WAIT_S
) -> pa.Table | None:
    """The same, read without any change to the file, also of its schema; None if it has none.

    Raises:
        StoreError: it is being written for longer than `wait_s` seconds, or is not ours.
    """
    if is_missing(path):
        return None
    with (
        connect(path, read_only=True, wait_s=wait_s) as connection,
        store_errors(f"{path}: cannot be read", "restore it, or import into a new one"),
    ):
        if require_known_version(connection, path).is_older:
            return None  # there were no imports before schema 5
        return imported_rows(connection, run_ids)


def forget(connection: DuckDBPyConnection, result_ids: Sequence[str]) -> None:
    """Remove these results, all or none."""
    connection.begin()
    for table in (RESULTS, RAW, JOBS):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN (SELECT unnest(?))", [list(result_ids)]
        )
    connection.commit()
