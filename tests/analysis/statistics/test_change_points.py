"""Change points: steps where they are, none where there are none, whatever the unit."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import pytest

from analysis.statistics.arrays import np
from analysis.statistics.change_points import LEAST_LAUNCHES, change_points


def energy(values: Sequence[float], place: int) -> float:
    """The statistic by its definition: Matteson & James, equations 5 and 6, exponent 1."""
    before, behind = values[:place], values[place:]
    between = fmean(abs(one - other) for one in before for other in behind)
    within = sum(
        fmean(abs(one - other) for one, other in combinations(side, 2)) for side in (before, behind)
    )
    size = len(before) * len(behind) / len(values)
    return size * (2 * between - within)


def places_of(values: Sequence[float], borders: Sequence[int] | None = None) -> tuple[int, ...]:
    """The change points of a series of which each value was measured by itself."""
    return change_points([[value] for value in values], borders=borders)


def noisy(levels: Sequence[tuple[int, float]], seed: int = 19) -> list[float]:
    """Launches with deviation 1 about levels, each with its number of them."""
    random = np.random.default_rng(seed)
    return [float(random.normal(level, 1)) for count, level in levels for _ in range(count)]


@pytest.mark.parametrize(
    ("levels", "places"),
    [
        ([(30, 0), (30, 6)], (30,)),
        ([(30, 0), (30, -6)], (30,)),
        ([(20, 0), (20, 6), (20, 12)], (20, 40)),
        ([(20, 0), (15, 8), (25, 0)], (20, 35)),
        ([(57, 0), (LEAST_LAUNCHES, 12)], (57,)),
        ([(5, 0), (5, 12)], (5,)),
    ],
)
def test_steps_are_found_where_they_are(
    levels: list[tuple[int, float]], places: tuple[int, ...]
) -> None:
    assert places_of(noisy(levels)) == places


def test_the_place_is_the_one_with_the_greatest_energy() -> None:
    values = noisy([(14, 0), (11, 3)])
    places = range(LEAST_LAUNCHES, len(values) - LEAST_LAUNCHES + 1)
    best = max(places, key=lambda place: energy(values, place))
    assert places_of(values) == (best,)


def test_neither_unit_nor_level_matters() -> None:
    values = noisy([(12, 0), (9, 3), (14, 5)])
    scaled = [1e-6 * value - 3 for value in values]
    assert places_of(scaled) == places_of(values)


def test_clean_series_have_none_in_ninety_nine_of_a_hundred() -> None:
    """Heavy tails and skewed values too, as nothing is taken for normal."""
    random = np.random.default_rng(19)
    draws = (random.standard_normal, random.standard_exponential, random.standard_cauchy)
    seen = sum(bool(places_of(draws[number % 3](20))) for number in range(900))
    assert seen / 900 <= 0.01 + 2 * (0.01 * 0.99 / 900) ** 0.5
