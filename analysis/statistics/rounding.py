"""Rounding of numbers to the digits that count."""

import math


def rounded(value: float, digits: int) -> float:
    """A number with that many significant digits."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
