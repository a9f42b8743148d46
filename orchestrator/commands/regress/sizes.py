"""Numbers of verdicts in words: p-values, and which way is worse."""

import math

from analysis.results.metrics import Metric

_LEAST_P, _SMALL_P = 0.001, 0.01
_RATE = "/s"
_TIMES = frozenset({"ms", "s"})


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
