"""Ranges: the values that a number of a record can have; and what endings of columns' names mean.

Ranges stand at the fields for those who read records. Pydantic ignores them: a runner writes what
it measured, and the checks of the database refuse what cannot be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nextafter
from typing import Annotated, TypeVar

_Number = TypeVar("_Number", int, float)
_LARGEST = nextafter(1e19, 0)
"""No time, rate, size or number of a benchmark reaches 1e19, in whatever base unit."""
_ROUNDED = 1 + 1e-6  # 1 with what rounding adds to it


@dataclass(frozen=True)
class Range:
    """The values that a number can have."""

    name: str
    low: float | None = None  # the least; None: any that is finite
    high: float | None = None  # the largest; None: any that is finite
    above: bool = False  # True if `low` itself is none of them


RANGES = {
    known.name: known
    for known in (
        Range("size", 0, _LARGEST, above=True),
        Range("positive", 0, _LARGEST, above=True),
        Range("non-negative", 0, _LARGEST),
        Range("deviation", 0, inf),
        Range("fraction", 0, 1),
        Range("correlation", -_ROUNDED, _ROUNDED),
        Range("cosine", -_ROUNDED, _ROUNDED),
        Range("finite"),
    )
}
"""By name. The files of others may have 0 where a number is `positive`, for what they did not
measure. Of outputs that are 0 or no numbers a `deviation` is infinite or no number, and so is a
`cosine`."""

AxisSize = Annotated[int, RANGES["size"]]
Positive = Annotated[_Number, RANGES["positive"]]
NonNegative = Annotated[_Number, RANGES["non-negative"]]
Deviation = Annotated[float, RANGES["deviation"]]
Fraction = Annotated[float, RANGES["fraction"]]
Correlation = Annotated[float, RANGES["correlation"]]
Cosine = Annotated[float, RANGES["cosine"]]
Finite = Annotated[float, RANGES["finite"]]

ENDING_DOCS: Mapping[str, str] = {
    "_median_s": "Median, seconds.",
    "_stddev_s": "Sample standard deviation, seconds.",
    "_p50_s": "50th percentile, seconds.",
    "_p90_s": "90th percentile, seconds.",
    "_p95_s": "95th percentile, seconds.",
    "_p99_s": "99th percentile, seconds.",
    "_p999_s": "99.9th percentile, seconds.",
    "_low_s": "Lower end of its 95 % interval, seconds.",
    "_high_s": "Upper end of its 95 % interval, seconds.",
}
"""The documentation of columns that have no docstring, by the end of their names."""
