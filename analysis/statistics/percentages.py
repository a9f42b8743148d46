"""Percentages in words: shares, and the change that a ratio is, with its interval."""

from analysis.statistics.ratios import Estimate

_MOST_PERCENT = 999.0


def percent(share: float) -> str:
    """A share as a percentage without its sign `%`: `12`, `9.1`; two digits that count."""
    number = 100 * share
    if abs(number) > _MOST_PERCENT:
        return f"{'-' if number < 0 else ''}>{_MOST_PERCENT:.0f}"
    digits = 0 if abs(number) >= 9.95 else 1
    return f"{round(number, digits) + 0.0:.{digits}f}".removesuffix(".0")


def signed_percent(share: float) -> str:
    """The same with a sign before it: `+12`, `-3.4`."""
    text = percent(share)
    return text if text.startswith("-") or text == "0" else f"+{text}"


def change_words(ratio: Estimate) -> str:
    """A change with its direction and its 95 % interval: `+12 % (+9.1 to +15 %)`."""
    value, low, high = (signed_percent(end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return f"{value} % ({low} to {high} %)"
