"""Values of Arrow as JSON can hold them."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import types

from orchestrator.store.reading.readable import values_of

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
