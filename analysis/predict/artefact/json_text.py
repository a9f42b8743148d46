"""JSON as other programs may have written it: parsed strictly, and values of the kinds expected."""

import json
import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

Data: TypeAlias = Any
"""Data that JSON holds."""
_DIGITS = ".9g"
"""Digits of numbers: the error of their rounding is far below that of any prediction."""
_LONGEST_KEY = 20
"""Parts of a key at most, and levels of keys in keys."""


def parsed(text: str) -> Data:
    """The data of a JSON document.

    Raises:
        ValueError: it is none, or holds a number that is not finite.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def written(data: Data) -> str:
    """The document of such data."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def plain_key(key: Hashable) -> Data:
    """A key as JSON has it: a tuple becomes a list."""
    return [*map(plain_key, key)] if isinstance(key, tuple) else key


def key_in(data: Data, location: str, level: int = 0) -> Hashable:
    """The key in such data.

    Raises:
        ValueError: it is none.
    """
    if isinstance(data, list):
        if level > _LONGEST_KEY or len(data) > _LONGEST_KEY:
            raise ValueError(f"{location}: a key is too long")
        return tuple(key_in(item, location, level + 1) for item in data)
    if data is None or isinstance(data, str | int | float):
        return data
    raise ValueError(f"{location}: a key is {type(data).__name__}")


def keys_in(items: Sequence[Data], location: str) -> list[Hashable]:
    """The keys in a list of such data, of which there may be many.

    Raises:
        ValueError: one is none.
    """
    keys = [tuple(map(_flat, item)) if type(item) is list else item for item in items]
    try:
        frozenset(keys)
    except TypeError:  # it holds a table, or lists in lists
        return [key_in(item, location) for item in items]
    return keys


def _flat(part: Data) -> Data:
    return tuple(part) if type(part) is list else part


def number_in(data: Data, location: str) -> float:
    """The finite number in such data.

    Raises:
        ValueError: it is none.
    """
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    if not is_number or not abs(data) <= sys.float_info.max:
        raise ValueError(f"{location}: is no number")
    return float(data)


def rounded_number(number: float) -> float:
    """The number with as many digits as files have."""
    return float(format(number, _DIGITS))


def of_type(kind: type, data: Data, location: str) -> Any:
    """The data, if it is of that type.

    Raises:
        ValueError: it is not.
    """
    if type(data) is not kind:
        raise ValueError(f"{location or 'it'}: is {type(data).__name__}, not {kind.__name__}")
    return data


def one_of_known(known: Mapping[Any, Any], data: Data, location: str) -> Any:
    """The value that a known word stands for.

    Raises:
        ValueError: the word is unknown.
    """
    if not isinstance(data, str) or data not in known:
        raise ValueError(f"{location}: {data!r:.80} is not one of {', '.join(map(str, known))}")
    return known[data]


def pairs_in(data: Data, location: str) -> list[tuple[Data, Data]]:
    """The pairs of a list of them.

    Raises:
        ValueError: it is none.
    """
    pairs = of_type(list, data, location)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{location}: is no list of pairs")
    return [(key, value) for key, value in pairs]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
