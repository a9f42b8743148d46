"""Sparklines: the course of a number in one line of text."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import TextIO

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = "_.-~=+*#"
"""The same levels in ASCII."""
MOST_LETTERS = 24


def sparkline(values: Sequence[float], *, blocks: bool, width: int = MOST_LETTERS) -> str:
    """The values as letters from the least to the greatest, means of neighbours where many.

    All have the middle letter where they are equal.
    """
    if not values:
        return ""
    letters = _BLOCKS if blocks else _PLAIN
    means = _means(values, width)
    low, high = min(means), max(means)
    if high <= low:
        return letters[len(letters) // 2 - 1] * len(means)
    step = (high - low) / len(letters)
    return "".join(letters[min(int((mean - low) / step), len(letters) - 1)] for mean in means)


def has_blocks(stream: TextIO) -> bool:
    """True if a terminal can show block letters; pipes and plain encodings get ASCII."""
    try:
        _BLOCKS.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return stream.isatty()


def _means(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    edges = [round(number * len(values) / width) for number in range(width + 1)]
    return [fmean(values[start:end]) for start, end in pairwise(edges)]
