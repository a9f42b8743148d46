"""The confidence of intervals, and Student's t that makes them."""

import math
from functools import cache
from statistics import NormalDist

INTERVAL_CONFIDENCE = 0.95
GROWING_CONFIDENCE = 0.968
"""Confidence of the interval where the number of rounds grows until it is narrow. Stopping at the
first narrow one costs up to 4 % of coverage: alpha is spent beforehand (`performance rounds`)."""


@cache
def students_t(degrees: float, confidence: float) -> float:
    """The value within which Student's t lies with that confidence, on both sides of 0.

    Hill, "Algorithm 396: Student's t-Quantiles", CACM 13 (1970); exact for one and two degrees, and
    up to a fifth too wide between them.
    """
    tail = 1 - confidence
    if degrees == 1:
        return 1 / math.tan(tail * math.pi / 2)
    if degrees == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * tail) ** (2 / degrees)
    if y > 0.05 + a:
        y = _near_the_middle(degrees, tail, a, b, c, d)
    else:
        y = (
            (
                1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3)
                + 0.5 / (degrees + 4)
            )
            * y
            - 1
        ) * (degrees + 1) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)


def _near_the_middle(degrees: float, tail: float, a: float, b: float, c: float, d: float) -> float:
    x = NormalDist().inv_cdf(tail / 2)
    y = x * x
    if degrees < 5:
        c += 0.3 * (degrees - 4.5) * (x + 0.6)
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.expm1(a * y * y)


SPREAD_CONFIDENCE = 0.9
"""Confidence of the upper bound of a deviation that pairs of results tell."""


@cache
def upper_deviation(degrees: float) -> float:
    """The upper bound of a deviation by its estimate with so many degrees of freedom.

    By chi-squared's quantile: Wilson and Hilferty, PNAS 17 (1931); wider than exact for one degree.
    """
    spread = 2 / (9 * degrees)
    root = 1 - spread - NormalDist().inv_cdf(SPREAD_CONFIDENCE) * math.sqrt(spread)
    return root**-1.5 if root > 0 else math.inf
