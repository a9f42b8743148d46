"""Results as values, read in batches: a million of them need not fit into memory."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from inspect import GEN_CLOSED, GEN_SUSPENDED, getgeneratorstate

import pyarrow as pa
from duckdb import DuckDBPyConnection
from pydantic import ValidationError

from orchestrator.errors import StoreError
from orchestrator.store.file.explaining import explain
from orchestrator.store.file.rows import fetch
from orchestrator.store.reading.select import Selection
from orchestrator.store.reading.stored_record import StoredRecord
from orchestrator.store.schema.tables import (
    ENVIRONMENTS,
    HARDWARE,
    JOBS,
    MODELS,
    RAW,
    RESULTS,
    Table,
)
from runner.record import Row, each_row

Records = Generator[StoredRecord, None, None]
BATCH_ROWS = 2048
_JOINED: Mapping[str, tuple[Table, str]] = {
    "h": (HARDWARE, "hardware_id"),
    "e": (ENVIRONMENTS, "environment_id"),
    "m": (MODELS, "model_id"),
}
"""Beside results `r`, the tables that a record is put together from, and what joins each."""
_LARGE = (RAW, JOBS)
_OF_THESE = """
    SELECT * FROM {} WHERE result_id BETWEEN ? AND ? AND result_id IN (SELECT unnest(?::VARCHAR[]))
"""
"""The range spares DuckDB most of the table, since the results of a run lie together."""


def _select() -> str:
    tables = {alias: table for alias, (table, _) in _JOINED.items()} | {"r": RESULTS}
    places = {column.name: alias for alias, table in tables.items() for column in table.columns}
    fields = (name for name in StoredRecord.model_fields if name in places)
    columns = ", ".join(f"{places[name]}.{name}" for name in fields)
    joins = " ".join(
        f"LEFT JOIN {table.name} {alias} USING ({key})" for alias, (table, key) in _JOINED.items()
    )
    return f"SELECT {columns} FROM {RESULTS.name} r {joins}"


_SELECT = _select()


class RecordStream(Iterator[StoredRecord]):
    """Records that are read as they are asked for, and no longer than their store is open."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._cut_off = False

    def __next__(self) -> StoredRecord:
        if self._cut_off:
            raise StoreError(
                "the store was closed before all of its records were read",
                hint="read them while it is open",
            )
        return next(self._records)

    @property
    def is_reading(self) -> bool:
        """Whether it has begun and not ended."""
        return getgeneratorstate(self._records) == GEN_SUSPENDED

    def close(self) -> None:
        """Let go of the database."""
        self._cut_off |= getgeneratorstate(self._records) != GEN_CLOSED
        self._records.close()


def read(connection: DuckDBPyConnection, wanted: Selection, *, whole: bool) -> Records:
    """The results that were selected; with raw durations and jobs if they are to be whole.

    Raises:
        StoreError: a row holds what no record may hold.
    """
    sql = f"{_SELECT} WHERE r.result_id IN ({wanted.sql})"
    with closing(connection.cursor()) as cursor, closing(connection.cursor()) as second:
        relation = cursor.sql(sql, params=list(wanted.parameters))
        for batch in _batches(relation.to_arrow_reader(BATCH_ROWS)):
            found = _rows(batch)
            yield from map(_record, _completed(second, [*found]) if whole else found)


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """Columns that no row fills are left out, since a record is null there by itself."""
    filled = [
        place for place, column in enumerate(batch.columns) if column.null_count < len(column)
    ]
    names = [batch.schema.names[place] for place in filled]
    return each_row(names, [batch.columns[place] for place in filled])


def _completed(connection: DuckDBPyConnection, found: Sequence[Row]) -> Sequence[Row]:
    """With what lies in the large tables, which a join would hold in memory whole."""
    by_id = {row["result_id"]: row for row in found}
    these = (min(by_id), max(by_id), [*by_id])
    for table in _LARGE:
        for row in fetch(connection, _OF_THESE.format(table.name), *these):
            by_id[row["result_id"]].update(row)
    return found


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        with reader:
            yield from reader
    except (OSError, pa.ArrowException) as error:  # DuckDB's own, through Arrow's stream
        raise StoreError(
            f"the results cannot be read: {explain(error)}", hint="ask for fewer of them"
        ) from error


def _record(row: Row) -> StoredRecord:
    try:
        return StoredRecord.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"{row['result_id']}: {place}: {first['input']!r}: {first['msg']}",
            hint="`orchestrator validate` finds such rows, and --fix sets them aside",
        ) from error
