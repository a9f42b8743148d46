"""Percentages in words: shares, and the changes that ratios are, with their intervals."""

from analysis.statistics.ratios import Estimate

_MOST_PERCENT, _WHOLE_PERCENT = 999.0, 9.95
_MOST_DIGITS = 3
"""Digits behind the point of a percentage whose interval is narrow."""


def percent_text(share: float, digits: int | None = None) -> str:
    """A share as a percentage without its sign `%`: `12`, `9.1`.

    Args:
        share: the share.
        digits: digits behind the point; None for one below 10 and none above.
    """
    number = 100 * share
    if number > _MOST_PERCENT:  # the least is -100
        return f">{_MOST_PERCENT:.0f}"
    if digits is None:
        digits = 0 if abs(number) >= _WHOLE_PERCENT else 1
        return f"{number:z.{digits}f}".removesuffix(".0")
    return f"{number:z.{digits}f}"


def signed_percent(share: float) -> str:
    """The same with a sign before it: `+12`, `-3.4`."""
    return _signed(percent_text(share))


def _signed(text: str) -> str:
    return text if text.startswith(("-", ">")) or not float(text) else f"+{text}"


def extent_words(ratio: Estimate) -> str:
    """The size of a change whatever its direction: `12 % (9.1 to 15 %)`."""
    sign = 1 if ratio.value >= 1 else -1
    value, *ends = (sign * (number - 1) for number in (ratio.value, ratio.low, ratio.high))
    text, low, high = _texts(value, *sorted(ends))
    return f"{text} % ({low} to {high} %)"


def change_words(ratio: Estimate) -> str:
    """A change with its direction: `+12 % (9.1 to 15 %)`, `-8 % (-10 to -6 %)`."""
    text, low, high = _texts(*(number - 1 for number in (ratio.value, ratio.low, ratio.high)))
    return f"{_signed(text)} % ({low} to {high} %)"


def interval_percent(ratio: Estimate) -> str:
    """The ends of a change's 95 % interval as a column has them: `9.1 to 15`, `-2 to 8`."""
    _, low, high = _texts(*(number - 1 for number in (ratio.value, ratio.low, ratio.high)))
    return f"{low} to {high}"


def _texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """The percentages with digits enough to tell the ends of the interval apart."""
    shares = (value, low, high)
    text, *ends = map(percent_text, shares)
    for digits in range(1, _MOST_DIGITS + 1):
        if ends[0] != ends[1]:
            break
        text, *ends = (percent_text(share, digits) for share in shares)
    return text, ends[0], ends[1]
