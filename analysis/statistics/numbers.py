"""Numbers as people read them: with the digits that count, and as percentages."""

import math
from collections.abc import Iterable

_MOST_PERCENT, _WHOLE_PERCENT = 999.0, 9.95
_MOST_DIGITS = 3


def rounded(value: float, digits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def format_number(value: float) -> str:
    """Three digits where that loses nothing before the point: `0.0123`, `12.3`, `1,234`."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def amount(value: float, unit: str = "") -> str:
    """A number with three digits that count, and its unit: `4.23 ms`, `12,300`."""
    return f"{format_number(rounded(value, 3))} {unit}".rstrip()


def excess_words(times: float) -> str:
    """The excess over a limit, as words before its name: `12 % over`, `151 times`."""
    return f"{percent_text(times - 1)} % over" if times < 2 else f"{format_number(times)} times"


def number_range(values: Iterable[float]) -> str:
    """The least and the greatest of some numbers: `1.2 to 3.4`; one if they read alike."""
    known = list(values)
    return " to ".join(dict.fromkeys(format_number(end) for end in (min(known), max(known))))


def percent_text(share: float, digits: int | None = None) -> str:
    """A share as a percentage without its sign: `12`, `9.1`; with digits enough unless given."""
    number = 100 * share
    if number > _MOST_PERCENT:  # the least is -100
        return f">{_MOST_PERCENT:.0f}"
    if digits is None:
        digits = 0 if abs(number) >= _WHOLE_PERCENT else 1
        return f"{number:z.{digits}f}".removesuffix(".0")
    return f"{number:z.{digits}f}"


def signed_percent(share: float) -> str:
    return _signed(percent_text(share))


def _signed(text: str) -> str:
    return text if text.startswith(("-", ">")) or not float(text) else f"+{text}"


def change_text(ratio: float, low: float | None = None, high: float | None = None) -> str:
    if low is None or high is None:
        return f"{signed_percent(ratio - 1)} %"
    text, *ends = interval_texts(ratio - 1, low - 1, high - 1)
    return f"{_signed(text)} % ({' to '.join(ends)} %)"


def interval_texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """The percentages with digits enough to tell the ends of the interval apart."""
    shares = (value, low, high)
    text, *ends = map(percent_text, shares)
    for digits in range(1, _MOST_DIGITS + 1):
        if ends[0] != ends[1]:
            break
        text, *ends = (percent_text(share, digits) for share in shares)
    return text, ends[0], ends[1]
