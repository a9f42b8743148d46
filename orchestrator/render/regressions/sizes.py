"""Sizes of changes in words: percentages with their intervals, p-values, and which way is worse."""

import math

from analysis.results.metrics import Metric
from analysis.statistics.ratios import Estimate

_MOST_PERCENT = 999.0
_LEAST_P, _SMALL_P = 0.001, 0.01
_RATE = "/s"
_TIMES = frozenset({"ms", "s"})


def percent_text(share: float) -> str:
    """A share as a percentage without its sign `%`: `12`, `9.1`; two digits that count."""
    number = 100 * share
    if abs(number) > _MOST_PERCENT:
        return f"{'-' if number < 0 else ''}>{_MOST_PERCENT:.0f}"
    digits = 0 if abs(number) >= 9.95 else 1
    return f"{number:.{digits}f}".removesuffix(".0")


def signed_percent(share: float) -> str:
    """The same with a sign before it: `+12`, `-3.4`."""
    text = percent_text(share)
    return text if text.startswith("-") or text == "0" else f"+{text}"


def extent_words(ratio: Estimate) -> str:
    """The size of a change whatever its direction: `12 % (9.1 to 15 %)`."""
    sign = 1 if ratio.value >= 1 else -1
    value, *ends = (sign * (number - 1) for number in (ratio.value, ratio.low, ratio.high))
    low, high = sorted(ends)
    return f"{percent_text(value)} %{_ends(percent_text(low), percent_text(high))}"


def change_words(ratio: Estimate) -> str:
    """A change with its direction: `+12 % (9.1 to 15 %)`, `-8 % (-10 to -6 %)`."""
    low, high = (percent_text(end - 1) for end in (ratio.low, ratio.high))
    return f"{signed_percent(ratio.value - 1)} %{_ends(low, high)}"


def _ends(low: str, high: str) -> str:
    return f" ({low} to {high} %)"


def interval_percent(ratio: Estimate) -> str:
    """The ends of a change's 95 % interval as a column has them: `9.1 to 15`, `-2 to 8`."""
    return f"{percent_text(ratio.low - 1)} to {percent_text(ratio.high - 1)}"


def p_words(p_value: float | None) -> str | None:
    """A p-value with two digits that count, a small one with one."""
    if p_value is None:
        return None
    if p_value < _LEAST_P:
        return f"<{_LEAST_P:g}"
    return f"{p_value:.{1 if p_value < _SMALL_P else 2}g}"


def finite(value: float | None) -> float | None:
    """The number; None for one that is not finite, which JSON cannot hold."""
    return value if value is not None and math.isfinite(value) else None


def worse_words(metric: Metric) -> tuple[str, str]:
    """The words for a change to the worse and to the better."""
    of_time = metric.unit in _TIMES or metric.unit.endswith(_RATE)
    return ("slower", "faster") if of_time else ("worse", "better")
