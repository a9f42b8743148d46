"""Record files: one Parquet row per record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AwareDatetime, BaseModel

from runner.contract.files import save_file
from runner.contract.record.record import Record, Row

_UNITS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def rows(table: pa.Table) -> list[Row]:
    return list(each_row(table.column_names, table.columns))


def each_row(names: Sequence[str], columns: Sequence[pa.Array | pa.ChunkedArray]) -> Iterator[Row]:
    """The rows of these columns; a map becomes a dict."""
    values = (
        _moments(column)
        if pa.types.is_timestamp(column.type)
        else column.to_pylist(maps_as_pydicts="lossy")
        for column in columns
    )
    yield from (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def _moments(column: pa.Array | pa.ChunkedArray) -> Iterator[datetime | None]:
    """The same as pyarrow's own, which imports pandas; a cast imports half of Python's library."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC if column.type.tz else None)
    a_second = _UNITS_A_SECOND[column.type.unit]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for since in chunk.view(pa.int64()).to_pylist():
            if since is None:
                yield None
            else:
                yield epoch + timedelta(microseconds=since * 10**6 // a_second)


_COMPRESSED_FROM_BYTES = 128
"""Smaller values only grow by compression, and take twice the time to read."""


def write_records(table: pa.Table, file: IO[bytes]) -> None:
    """Write records as Parquet with their Arrow schema and a checksum of each page."""
    pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def write_one_row(table: pa.Table, file: IO[bytes]) -> None:
    """Write one record without empty columns and without what helps with many rows alone."""
    table = drop_empty_columns(table)
    pq.write_table(
        table,
        file,
        compression={
            name: "zstd" if table[name].nbytes >= _COMPRESSED_FROM_BYTES else "none"
            for name in table.column_names
        },
        write_page_checksum=True,
        store_schema=False,
        use_dictionary=False,
        write_statistics=False,
    )


def drop_empty_columns(table: pa.Table) -> pa.Table:
    """The table without columns of nulls alone, save those that have another value by default."""
    filled = (
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.null_count < len(table) or not is_null_if_missing(name)
    )
    return table.select(list(filled))


def is_null_if_missing(name: str) -> bool:
    """True for a column of records that says null to readers of a file that lacks it."""
    field = Record.model_fields.get(name)
    return field is not None and field.default is None


def save_record(record: Record, folder: Path) -> Path:
    """Write the record to `<folder>/<cell_id>.parquet`, whole or not at all; returns that path."""
    path = folder / f"{record.cell_id}.parquet"
    table = to_table([record])
    save_file(path, lambda file: write_one_row(table, file))
    return path


def record_of(row: Mapping[str, Any]) -> Record:
    """The record of a row, without the columns of newer runners."""
    known = row.keys() & Record.model_fields.keys()
    return Record.model_validate({name: row[name] for name in known})


@cache
def arrow_schema(value: type[BaseModel] = Record) -> pa.Schema:
    return pa.schema(
        (name, _arrow_type(info.annotation)) for name, info in value.model_fields.items()
    )


def to_table(records: list[Record]) -> pa.Table:
    return pa.Table.from_pylist([record.model_dump() for record in records], arrow_schema())


_ARROW_TYPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    AwareDatetime: pa.timestamp("us", tz="UTC"),
}


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation in _ARROW_TYPES:
        return _ARROW_TYPES[annotation]
    if is_dataclass(annotation):
        fields = get_type_hints(annotation).items()
        return pa.struct([(name, _arrow_type(inner)) for name, inner in fields])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return pa.string()
    if origin in {dict, Mapping}:
        return pa.map_(_arrow_type(arguments[0]), _arrow_type(arguments[1]))
    inner = _arrow_type(arguments[0])
    return pa.list_(inner) if origin is list else inner
