"""Values of Arrow as JSON can hold them."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType
from pyarrow import types

from orchestrator.store.schema.parquet_columns import identifier

Change = Callable[[pa.DataType], pa.DataType]


def values_of(field: pa.Field, column: pa.Array) -> list[Any]:
    """A column's values as Python has them; dates and times as text, since its own end at 9999.

    A number of 32 bits has its own digits, not those that are closest to it in 64.
    """
    for change in (_towards_text, _as_text):
        changed = _changed(field.type, change)
        column = column if changed == column.type else column.cast(changed)
    return list(column.to_pylist())


def _towards_text(type_: pa.DataType) -> pa.DataType:
    if types.is_float32(type_):
        return pa.string()
    return pa.timestamp(type_.unit) if types.is_timestamp(type_) else type_


def _as_text(type_: pa.DataType) -> pa.DataType:
    if types.is_float32(type_):
        return pa.float64()
    is_moment = types.is_timestamp(type_) or types.is_date(type_) or types.is_time(type_)
    return pa.string() if is_moment else type_


def _changed(type_: pa.DataType, change: Change) -> pa.DataType:
    """The type with this change made to all its parts."""
    if types.is_map(type_):
        return pa.map_(_changed(type_.key_type, change), _changed(type_.item_type, change))
    if types.is_struct(type_):
        return pa.struct([field.with_type(_changed(field.type, change)) for field in type_])
    if types.is_fixed_size_list(type_):
        return pa.list_(_part(type_, change), type_.list_size)
    if types.is_large_list(type_):
        return pa.large_list(_part(type_, change))
    return pa.list_(_part(type_, change)) if types.is_list(type_) else change(type_)


def _part(type_: pa.DataType, change: Change) -> pa.Field:
    field = type_.value_field
    return field.with_type(_changed(field.type, change))


Convert = Callable[[Any], Any]
_BEYOND = "out of range"
_NO_FRACTION = re.compile(r"\.0+$")


def plain_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The batch's rows; a map becomes a dict, a number that is not finite null."""
    return zip(*map(plain_values, batch.schema, batch.columns), strict=True)


def plain_values(field: pa.Field, column: pa.Array) -> list[Any]:
    """A column's values, likewise."""
    return _each(_converter(field.type), values_of(field, column))


def as_json(value: Any) -> str:
    """A plain value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def is_nested(type_: pa.DataType) -> bool:
    """Whether such a value is a list, a map or a struct."""
    return _is_list(type_) or types.is_map(type_) or types.is_struct(type_)


def _converter(type_: pa.DataType) -> Convert | None:
    """What makes such a value plain; None if it is already."""
    if types.is_map(type_):
        return _map(type_)
    if types.is_struct(type_):
        return _struct(type_)
    if _is_list(type_):
        convert = _converter(type_.value_type)
        return convert and (lambda items: _each(convert, items))
    if types.is_decimal(type_):
        return str if type_.scale > 0 else int
    if types.is_dictionary(type_):
        return _converter(type_.value_type)
    return next((convert for matches, convert in _SCALARS if matches(type_)), str)


def _map(type_: pa.DataType) -> Convert:
    key, item = _converter(type_.key_type), _converter(type_.item_type)

    def plain(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        keys = _each(key, [key for key, _ in pairs])
        items = _each(item, [item for _, item in pairs])
        return dict(zip(map(_name, keys), items, strict=True))

    return plain


def _name(key: Any) -> str:
    return key if isinstance(key, str) else as_json(key)


def _struct(type_: pa.DataType) -> Convert:
    converters = [_converter(field.type) for field in type_]

    def plain(fields: dict[str, Any]) -> dict[str, Any]:
        told = zip(converters, fields.items(), strict=True)
        return {name: _each(convert, [value])[0] for convert, (name, value) in told}

    return plain


def _each(convert: Convert | None, values: list[Any]) -> list[Any]:
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _date(told: str) -> str:
    """What Arrow calls out of range is one of DuckDB's infinite dates."""
    if _BEYOND in told:
        return "-infinity" if "-" in told else "infinity"
    return told


def _moment(told: str) -> str:
    told = _date(told)
    return _NO_FRACTION.sub("", told).replace(" ", "T")


def _moment_in_utc(told: str) -> str:
    told = _moment(told)
    return told if told.endswith("infinity") else f"{told}+00:00"


def _time(told: str) -> str:
    """The one time of DuckDB that Arrow has not is the end of the day."""
    return "24:00:00" if _BEYOND in told else _NO_FRACTION.sub("", told)


def _has_zone(type_: pa.DataType) -> bool:
    return types.is_timestamp(type_) and type_.tz is not None


def _is_list(type_: pa.DataType) -> bool:
    return bool(
        types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
    )


_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], Convert | None], ...] = (
    (types.is_null, None),
    (types.is_boolean, None),
    (types.is_integer, None),
    (types.is_string, None),
    (types.is_large_string, None),
    (types.is_floating, _finite),
    (types.is_date, _date),
    (types.is_time, _time),
    (_has_zone, _moment_in_utc),
    (types.is_timestamp, _moment),
    (types.is_binary, bytes.hex),
    (types.is_large_binary, bytes.hex),
)


Parts = Sequence[tuple[str, str]]
STRANGE = frozenset(
    {
        "bignum",
        "bit",
        "geometry",
        "interval",
        "time with time zone",
        "uhugeint",
        "union",
        "variant",
    }
)
"""Arrow gives them as DuckDB's bytes, loses a part, or has what Parquet refuses."""


def carried(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    """The same answer, in which no column and no part of one is of such a type."""
    targets = [_carried(type_) for type_ in relation.types]
    if not any(targets):
        return relation
    columns = (
        f"CAST(#{place} AS {target}) AS {identifier(name)}" if target else f"#{place}"
        for place, (name, target) in enumerate(zip(relation.columns, targets, strict=True), start=1)
    )
    return relation.project(", ".join(columns))


def _carried(type_: DuckDBPyType) -> str | None:
    """What such a value is cast to; None if it is carried as it is."""
    if type_.id in STRANGE:
        return "VARCHAR"
    if type_.id not in _NESTED:
        return None
    parts = [(name, part) for name, part in type_.children if isinstance(part, DuckDBPyType)]
    casts = [(name, _carried(part)) for name, part in parts]
    if not any(cast for _, cast in casts):
        return None
    told = [(name, cast or str(part)) for (name, cast), (_, part) in zip(casts, parts, strict=True)]
    return _NESTED[type_.id](told, type_)


def _fields(parts: Parts, _: DuckDBPyType) -> str:
    return f"STRUCT({', '.join(f'{identifier(name)} {cast}' for name, cast in parts)})"


def _unnamed(parts: Parts, type_: DuckDBPyType) -> str:
    return f"{type_.id}({', '.join(cast for _, cast in parts)})"


def _list(parts: Parts, _: DuckDBPyType) -> str:
    return f"{parts[0][1]}[]"


def _array(parts: Parts, type_: DuckDBPyType) -> str:
    return f"{parts[0][1]}[{dict(type_.children)['size']}]"


_NESTED: Mapping[str, Callable[[Parts, DuckDBPyType], str]] = {
    "array": _array,
    "list": _list,
    "map": _unnamed,
    "struct": _fields,
    "tuple": _unnamed,
}
"""A nested type of these parts, each with its name."""
