"""Plain data as others may write it: finite numbers, Unicode text, bounded depth; strict JSON."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

MOST_DEPTH = 20
"""Levels of lists and mappings: a file written by hand has five."""
_LARGEST = 10**308
"""Beyond it a whole number is no finite floating-point number."""
_SHOWN = 80

Location = tuple[str | int, ...]
"""Keys and list positions from the top of a document."""


def dotted(location: Location) -> str:
    """A location as errors name it: `axes.precision[2]`."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{clip(step)}" if text else clip(step)
    return text


def clip(text: str) -> str:
    """The text, or its beginning if it is too long for an error."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def parse_json(text: str, constant: Callable[[str], Any] | None = None) -> Any:
    """The data of a JSON document; ValueError says where it is none, or not plain.

    `constant` makes of `NaN`, `Infinity` and `-Infinity`, which JSON lacks, what stands for them.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=constant or _refuse)
    except json.JSONDecodeError as error:
        fault = error.msg.removesuffix(" at")
        raise ValueError(f"line {error.lineno}: is not JSON: {fault}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    check_plain(data)
    return data


def check_plain(data: Any) -> None:
    """Refuse what no file, database or other language could hold as it is."""
    for location, value in _values(data):
        fault = word_fault(value)
        if fault:
            raise ValueError(f"{dotted(location)}: {fault}" if location else fault)


def _values(data: Any) -> Iterator[tuple[Location, Any]]:
    """Every value and every key, with its location; nothing below the deepest level allowed."""
    waiting: list[tuple[Location, Any]] = [((), data)]
    while waiting:
        location, value = waiting.pop()
        yield location, value
        if isinstance(value, dict | list) and len(location) >= MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH} levels")
        if isinstance(value, dict):
            for key, item in value.items():
                yield location, key
                waiting.append(((*location, key), item))
        elif isinstance(value, list):
            waiting += (((*location, position), item) for position, item in enumerate(value))


def word_fault(value: Any) -> str | None:
    """The reason why text or a number is not plain; None if it is, or is something else."""
    if isinstance(value, str) and not value.isascii():
        # Half of a pair that UTF-16 uses: JSON can spell it, no file can hold it.
        try:
            value.encode()
        except UnicodeEncodeError:
            return "is not Unicode text"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a finite number"
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "is too large for a number"
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {clip(twice)!r} appears twice")
    return data


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
