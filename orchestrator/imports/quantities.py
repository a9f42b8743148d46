"""Numbers and units as foreign files write them, converted without rounding on the way."""

import math
import re
from collections.abc import Mapping
from decimal import Context, Decimal
from functools import lru_cache

from orchestrator.matrix.problems import shown

Number = int | float
_EXACT = Context(prec=60)

UNITS: Mapping[str, Mapping[str, Decimal]] = {
    "seconds": {
        "s": Decimal(1),
        "ms": Decimal("1e-3"),
        "us": Decimal("1e-6"),
        "ns": Decimal("1e-9"),
        "min": Decimal(60),
        "h": Decimal(3600),
    },
    "nanoseconds": {
        "s": Decimal(10**9),
        "ms": Decimal(10**6),
        "us": Decimal(10**3),
        "ns": Decimal(1),
    },
    "bytes": {
        "B": Decimal(1),
        "kB": Decimal(10**3),
        "MB": Decimal(10**6),
        "GB": Decimal(10**9),
        "TB": Decimal(10**12),
        "KiB": Decimal(2**10),
        "MiB": Decimal(2**20),
        "GiB": Decimal(2**30),
        "TiB": Decimal(2**40),
    },
    "joules": {
        "J": Decimal(1),
        "mJ": Decimal("1e-3"),
        "kJ": Decimal(10**3),
        "Wh": Decimal(3600),
        "kWh": Decimal(3_600_000),
    },
    "per second": {
        "1/s": Decimal(1),
        "1/min": _EXACT.divide(Decimal(1), Decimal(60)),
        "1/h": _EXACT.divide(Decimal(1), Decimal(3600)),
    },
    "count": {
        "one": Decimal(1),
        "thousand": Decimal(10**3),
        "million": Decimal(10**6),
        "billion": Decimal(10**9),
    },
}
"""By dimension, what one of each unit is in the base unit."""

_WHOLE = frozenset({"bytes", "nanoseconds"})
_LARGEST = 10**300
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SILENT = frozenset({"", "nan", "null", "none", "n/a", "na", "-"})
_LONGEST_SILENT = max(map(len, _SILENT))


def says_nothing(value: object) -> bool:
    """Whether a value only fills its place: null, not a number, or a word for that."""
    if isinstance(value, str):
        word = value.strip()
        return len(word) <= _LONGEST_SILENT and word.lower() in _SILENT
    return value is None or (isinstance(value, float) and math.isnan(value))


@lru_cache
def dimension_of(column: str) -> str:
    """The dimension of one of our columns, which its name ends in."""
    endings = {"_s": "seconds", "_ns": "nanoseconds", "_bytes": "bytes", "_joules": "joules"}
    for ending, dimension in endings.items():
        if column.endswith(ending):
            return dimension
    return "per second" if column.endswith("throughput") else "count"


def quantity(value: object, unit: str | None, dimension: str) -> Number | None:
    """The value in its dimension's base unit, which None stands for; None if it says nothing.

    Whole where it is whole; bytes and nanoseconds are rounded to one.

    Raises:
        ValueError: it is no finite number, or negative, or too large to keep, or the unit is none.
    """
    if says_nothing(value):
        return None
    units = UNITS[dimension]
    if unit is not None and unit not in units:
        raise ValueError(f"its unit {shown(unit)} is not one of {', '.join(units)}")
    scaled = _decimal(value)
    if unit is not None:
        scaled = _EXACT.multiply(scaled, units[unit])
    if scaled < 0:
        raise ValueError(f"{shown(value)} is negative")
    if scaled > _LARGEST:
        raise ValueError(f"{shown(value)} is not a number that can be kept")
    if dimension in _WHOLE:
        return round(scaled)
    return int(scaled) if scaled == scaled.to_integral_value() else float(scaled)


def _decimal(value: object) -> Decimal:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    raise ValueError(f"{shown(value)} is not a number")
