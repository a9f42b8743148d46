"""Permutation tests against enumeration by hand, and what holds for any launches."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev

import pytest
from hypothesis import strategies as st

from analysis.statistics.arrays import np
from analysis.statistics.significance import (
    LaunchSamples,
    adjusted_p_values,
    permutation_p_values,
    student_p_value,
    student_quantile,
)
from tests.support.properties import property_test

VALUES = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=3, max_size=6)
SIDES = st.tuples(VALUES, VALUES)


def p_value(before: Sequence[float], after: Sequence[float]) -> float:
    (value,) = permutation_p_values([LaunchSamples(tuple(before), tuple(after))])
    return value


def students_t(before: Sequence[float], after: Sequence[float]) -> float:
    """Student's statistic for two samples with one variance."""
    squares = sum((len(side) - 1) * stdev(side) ** 2 for side in (before, after))
    pooled = squares / (len(before) + len(after) - 2)
    inverse = 1 / len(before) + 1 / len(after)
    return abs(fmean(after) - fmean(before)) / math.sqrt(pooled * inverse)


def test_of_two_sides_it_is_the_share_of_splits_as_extreme() -> None:
    before, after = [1.0, 2.0, 4.0, 8.0], [5.0, 9.0, 11.0]
    every = before + after
    count = 0
    for chosen in combinations(range(7), 3):
        later = [every[index] for index in chosen]
        earlier = [every[index] for index in range(7) if index not in chosen]
        count += students_t(earlier, later) >= students_t(before, after) * (1 - 1e-9)
    assert p_value(before, after) == pytest.approx(count / math.comb(7, 3))


@pytest.mark.parametrize(
    ("before", "after", "least", "decides"),
    [
        (5, 5, 2 / 252, True),
        (4, 4, 2 / 70, False),
        (3, 10, 1 / 286, True),
        (1, 1, 1.0, False),
        (1, 100, 1 / 101, True),
    ],
)
def test_sides_that_lie_apart_have_the_least_p_value(
    before: int, after: int, least: float, decides: bool
) -> None:
    low = tuple(index / 1000 for index in range(before))
    high = tuple(10 + index / 500 for index in range(after))
    samples = LaunchSamples(low, high)
    assert samples.least_p_value == pytest.approx(least)
    assert samples.can_decide is decides
    if before > 1:
        assert p_value(low, high) == pytest.approx(least)


@property_test(300, SIDES, st.floats(0.01, 100), st.floats(-5, 5))
def test_neither_unit_nor_level_nor_the_order_of_sides_matters(
    sides: tuple[list[float], list[float]], factor: float, shift: float
) -> None:
    before, after = sides
    if len({*before, *after}) == 1:
        return
    value = p_value(before, after)
    scaled = [[factor * one + shift for one in side] for side in sides]
    assert 0 < value <= 1
    assert p_value(*scaled) == pytest.approx(value, abs=0.02)
    assert p_value(after, before) == pytest.approx(value)
    assert p_value(before, after[::-1]) == pytest.approx(value)


def test_many_comparisons_together_go_below_what_one_can_reach() -> None:
    random = np.random.default_rng(19)
    clean = [tuple(row) for row in random.normal(0, 1, (100, 10))]
    samples = [LaunchSamples(row[:5], row[5:]) for row in clean]
    changed = LaunchSamples(samples[0].before, tuple(20 + value for value in samples[0].after))
    values = permutation_p_values([changed, *samples[1:]])
    assert values[0] < 2 / 252 / 50
    assert adjusted_p_values(values)[0] < 0.01


def test_without_a_change_every_p_value_is_as_likely_as_another() -> None:
    """Launches of three distributions and two designs, together: shares below each level agree."""
    random = np.random.default_rng(19)
    samples = []
    for number in range(900):
        draw = (random.standard_normal, random.standard_exponential, random.standard_cauchy)
        counts = (5, 5) if number % 2 else (3, 8)
        before, after = (tuple(draw[number % 3](count)) for count in counts)
        samples.append(LaunchSamples(before, after))
    values = np.array(permutation_p_values(samples))
    for level in (0.02, 0.1, 0.5, 0.9):
        error = math.sqrt(level * (1 - level) / len(values))
        assert np.mean(values <= level) == pytest.approx(level, abs=3 * error)


def test_p_values_are_adjusted_as_benjamini_and_hochberg_do() -> None:
    """Each is the least of p × 5 / rank over its rank and those above it."""
    values = (0.01, 0.5, 0.04, 0.03, 0.005)
    assert adjusted_p_values(values) == pytest.approx((0.025, 0.5, 0.05, 0.05, 0.025))


@pytest.mark.parametrize(
    ("confidence", "degrees", "quantile"),
    [(0.95, 8, 2.306), (0.99, 8, 3.355), (0.95, 1, 12.706), (0.99, 4, 4.604)],
)
def test_quantiles_are_those_of_printed_tables(
    confidence: float, degrees: int, quantile: float
) -> None:
    assert student_quantile(confidence, degrees) == pytest.approx(quantile, abs=5e-4)
    assert student_p_value(-quantile, degrees) == pytest.approx(1 - confidence, rel=1e-3)
