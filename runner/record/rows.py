"""Arrow tables as plain Python rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
_UNITS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def rows(table: pa.Table) -> list[Row]:
    """The table's rows; a map becomes a dict."""
    return list(each_row(table.column_names, table.columns))


def each_row(names: Sequence[str], columns: Sequence[pa.Array | pa.ChunkedArray]) -> Iterator[Row]:
    """The rows of these columns, one after the other."""
    for values in zip(*map(_values, columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return list(_moments(column))
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if value is None else dict(value) for value in values]
    return values


def _moments(column: pa.Array | pa.ChunkedArray) -> Iterator[datetime | None]:
    """What pyarrow gives as well, but not without importing pandas where there is one.

    A cast would import half of Python's library, which a user of fewer rights may not read.
    """
    epoch = datetime(1970, 1, 1, tzinfo=UTC if column.type.tz else None)
    a_second = _UNITS_A_SECOND[column.type.unit]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for since in chunk.view(pa.int64()).to_pylist():
            if since is None:
                yield None
            else:
                yield epoch + timedelta(microseconds=since * 10**6 // a_second)
