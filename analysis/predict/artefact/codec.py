"""Frozen values as JSON has them, and back, by the types that their classes declare.

What is read may come from elsewhere: a value that is not of its type is refused with its place.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from analysis.predict.artefact.json_text import (
    Data,
    key_in,
    keys_in,
    number_in,
    of_type,
    one_of_known,
    pairs_in,
    plain_key,
    rounded_number,
)
from analysis.predict.examples.targets import PREDICTION_TARGETS, Target
from analysis.statistics.arrays import np

_LEVELS = (Mapping[Hashable, tuple[float, ...]], Mapping[Hashable, tuple[float, float]])
"""Tables of numbers by keys: there are many, so that they are written as two lists."""


def encoded(kind: Any, value: Any) -> Data:
    """A value of that type as JSON has it."""
    if kind in _LEVELS:
        return _encoded_levels(value)
    if kind is Target:
        return value.name
    if kind is float:
        return rounded_number(value)
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return {name: encoded(types[name], getattr(value, name)) for name in types}
    return _encoded_group(kind, value)


def _encoded_group(kind: Any, value: Any) -> Data:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else encoded(_only(inner), value)
    if _is_mapping(origin):
        items = [(plain_key(key), encoded(inner[1], item)) for key, item in value.items()]
        return [*map(list, items)] if _has_long_keys(inner) else dict(items)
    if origin is frozenset:
        items = [encoded(inner[0], item) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, ensure_ascii=False))
    if origin is tuple:
        return [encoded(inner[0], item) for item in value]
    return plain_key(value) if kind is Hashable else value


def _encoded_levels(value: Mapping[Hashable, tuple[float, ...]]) -> Data:
    """Keys as the numbers of their parts, as many keys have the same."""
    parts: dict[Hashable, int] = {}

    def number_of(part: Hashable) -> int:
        return parts.setdefault(part, len(parts))

    keys = [[*map(number_of, key)] if isinstance(key, tuple) else number_of(key) for key in value]
    rows = [[rounded_number(number) for number in row] for row in value.values()]
    return {"parts": [*map(plain_key, parts)], "keys": keys, "rows": rows}


def decoded(kind: Any, data: Data, location: str = "") -> Any:
    """The value of that type that JSON holds.

    Raises:
        ValueError: it holds none; the message begins with its place.
    """
    if kind in _LEVELS:
        return _levels(data, location, pairs=kind == _LEVELS[1])
    if kind is Target:
        return one_of_known(PREDICTION_TARGETS, data, location)
    if kind is float:
        return number_in(data, location)
    if is_dataclass(kind):
        return _record(kind, data, location)
    return _decoded_group(kind, data, location)


def _decoded_group(kind: Any, data: Data, location: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if data is None else decoded(_only(inner), data, location)
    if origin is Literal:
        return one_of_known({value: value for value in inner}, data, location)
    if _is_mapping(origin):
        items = (
            pairs_in(data, location)
            if _has_long_keys(inner)
            else of_type(dict, data, location).items()
        )
        return {
            decoded(inner[0], key, location): decoded(inner[1], item, f"{location}.{key}")
            for key, item in items
        }
    if origin is frozenset and inner[0] is Hashable:
        return frozenset(keys_in(of_type(list, data, location), location))
    if origin in (frozenset, tuple):
        items = of_type(list, data, location)
        group = [decoded(inner[0], item, location) for item in items]
        return frozenset(group) if origin is frozenset else tuple(group)
    return key_in(data, location) if kind is Hashable else of_type(kind, data, location)


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _has_long_keys(inner: Sequence[Any]) -> bool:
    """True for keys that may have several parts, which JSON has none of."""
    return inner[0] is Hashable or get_origin(inner[0]) is tuple


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _only(kinds: Sequence[Any]) -> Any:
    """The type that may be missing."""
    (kind,) = (one for one in kinds if one is not NoneType)
    return kind


def _record(kind: Any, data: Data, location: str) -> Any:
    table, types = of_type(dict, data, location), _types(kind)
    if table.keys() != types.keys():
        differing = ", ".join(sorted(table.keys() ^ types.keys()))
        raise ValueError(f"{location or 'it'}: has other fields than it should: {differing}")
    values = {name: decoded(types[name], table[name], f"{location}.{name}") for name in types}
    return kind(**values)


def _levels(data: Data, location: str, *, pairs: bool) -> Mapping[Hashable, tuple[float, ...]]:
    table = of_type(dict, data, location)
    keys = of_type(list, table.get("keys"), location)
    rows = of_type(list, table.get("rows"), location)
    if len(keys) != len(rows):
        raise ValueError(f"{location}: has {len(keys)} keys and {len(rows)} rows")
    if not rows:
        return {}
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{location}: its rows are not as long as each other") from None
    if numbers.ndim != 2 or (pairs and numbers.shape[1] != 2) or not np.isfinite(numbers).all():
        raise ValueError(f"{location}: its rows hold what they should not")
    part_of = keys_in(of_type(list, table.get("parts"), location), location).__getitem__
    try:
        named = [tuple(map(part_of, key)) if type(key) is list else part_of(key) for key in keys]
    except (IndexError, TypeError):
        raise ValueError(f"{location}: a key names a part that is not there") from None
    return dict(zip(named, map(tuple, numbers.tolist()), strict=True))
