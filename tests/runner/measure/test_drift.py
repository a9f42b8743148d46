import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.drift import Drift, chi_square_survival, drift, kruskal_wallis

ROUND = st.lists(st.integers(1, 50), min_size=1, max_size=40)


def drifted(*rounds: list[int]) -> Drift:
    found = drift(rounds)
    assert found is not None
    return found


def durations(seed: int, count: int = 300, mean: int = 1_000_000) -> list[int]:
    return [int(value) for value in np.random.default_rng(seed).normal(mean, mean / 50, count)]


@given(st.floats(0, 2000), st.integers(1, 60))
def test_the_survival_function_is_scipys(value: float, degrees: int) -> None:
    expected = stats.chi2.sf(value, degrees)
    assert chi_square_survival(value, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(st.lists(ROUND, min_size=2, max_size=6))
def test_the_statistic_is_scipys_with_and_without_ties(rounds: list[list[int]]) -> None:
    if len({value for values in rounds for value in values}) > 1:
        expected = stats.kruskal(*rounds).statistic
        assert kruskal_wallis(rounds) == pytest.approx(expected, abs=1e-9)


@given(st.lists(ROUND, min_size=2, max_size=6))
def test_dependence_never_makes_drift_more_certain(rounds: list[list[int]]) -> None:
    plain = chi_square_survival(kruskal_wallis(rounds), len(rounds) - 1)
    found = drifted(*rounds)
    assert plain - 1e-12 <= found.p_value <= 1 + 1e-12


def test_one_round_cannot_drift() -> None:
    assert drift([]) is None
    assert drift([[1, 2, 3]]) is None


def test_equal_durations_have_not_drifted() -> None:
    assert drifted([5, 5, 5], [5, 5]) == Drift(change=0.0, p_value=1.0)


def test_the_change_is_from_the_first_round_to_the_last() -> None:
    assert drifted([100, 110, 120], [900], [98, 99, 100]).change == pytest.approx(-0.1)


def test_no_change_can_be_stated_from_nothing() -> None:
    assert drifted([0, 0, 0], [1, 1, 1]).change is None


def test_rounds_of_the_same_thing_seldom_differ() -> None:
    seeds = range(0, 600, 3)
    found = [drifted(*(durations(seed + part) for part in range(3))) for seed in seeds]
    assert sum(each.p_value < 0.05 for each in found) <= 20


def test_a_round_that_is_slower_differs() -> None:
    found = drifted(durations(1), durations(2), durations(3, mean=1_030_000))
    assert found.change == pytest.approx(0.03, abs=0.005)
    assert found.p_value < 1e-6


def test_rounds_that_wander_are_not_taken_for_drift_as_easily() -> None:
    calm, slower = durations(7), durations(8, mean=1_006_000)
    assert drifted(calm, slower).p_value < 0.01
    assert drifted(wandering(calm), wandering(slower)).p_value > 0.05


def wandering(values: list[int]) -> list[int]:
    """The same durations, climbing three times."""
    return [value for start in (0, 100, 200) for value in sorted(values[start : start + 100])]
