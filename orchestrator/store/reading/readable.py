"""Columns of Arrow as Python can hold them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

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
