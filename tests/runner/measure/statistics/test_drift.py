"""Changes between rounds and inside a steady phase, of durations drawn with a fixed seed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.statistics.drift import (
    Drift,
    LevelChange,
    change_inside,
    drift,
    order_p_value,
    range_survival,
)
from runner.measure.statistics.spread import Floats, correlation_of

DEVIATION = 0.03


def series(seed: int, count: int = 100, memory: float = 0.0, cv: float = 0.05) -> Floats:
    """Durations around 1, each of which depends on the one before."""
    noise = np.random.default_rng(seed).standard_normal(count)
    for index in range(1, count):
        noise[index] = memory * noise[index - 1] + math.sqrt(1 - memory**2) * noise[index]
    return np.exp(cv * noise)


def drifted(*levels: float, memory: float = 0.0, seed: int = 0) -> Drift:
    rounds = [level * series(seed + n, memory=memory) for n, level in enumerate(levels)]
    result = drift(rounds, DEVIATION)
    assert result is not None
    return result


def changed(durations: Floats) -> LevelChange:
    change = change_inside(durations)
    assert change is not None
    return change


@pytest.mark.parametrize(("value", "count"), [(0.0, 2), (1.0, 3), (3.5, 3), (5.0, 10), (9.0, 30)])
def test_the_range_of_normal_values_is_scipys(value: float, count: int) -> None:
    expected = stats.studentized_range.sf(value, count, 1e6)
    assert range_survival(value, count) == pytest.approx(expected, abs=1e-4)


@given(st.permutations(range(7)))
def test_the_chance_of_an_order_is_kendalls(order: list[int]) -> None:
    expected = stats.kendalltau(range(7), order, method="exact").pvalue
    assert order_p_value(order) == pytest.approx(expected, abs=1e-12)


@given(st.permutations(range(7)))
def test_rounds_that_are_far_apart_have_the_chance_of_independent_ones(order: list[int]) -> None:
    far = [86_400.0 * number for number in range(7)]
    expected = stats.kendalltau(range(7), order, method="asymptotic").pvalue
    assert order_p_value(order, far) >= order_p_value(order)
    assert order_p_value(order, far) == pytest.approx(expected, abs=0.15)


def test_near_rounds_of_one_level_seldom_have_an_order_that_chance_excludes() -> None:
    random = np.random.default_rng(0)
    moments = [9.0 * number for number in range(20)]
    factor = np.linalg.cholesky(correlation_of(moments))
    drawn = [factor @ random.standard_normal(20) for _ in range(200)]
    found = [
        np.mean([order_p_value(one, known) < 0.01 for one in drawn]) for known in (moments, None)
    ]
    assert found[0] <= 0.02
    assert found[1] > 0.06


def test_a_hump_that_the_last_round_does_not_show_is_found() -> None:
    hump = drifted(1.0, 1.3, 1.0)
    assert hump.p_value < 1e-6
    assert not hump.steady


def test_levels_of_processes_alone_are_no_drift() -> None:
    random = np.random.default_rng(0)
    found = [
        drifted(*np.exp(DEVIATION * random.standard_normal(3)), memory=0.9, seed=3 * n).p_value
        for n in range(100)
    ]
    assert sum(p_value < 0.01 for p_value in found) <= 2


def test_rounds_that_rise_one_by_one_are_a_trend_though_their_range_is_small() -> None:
    rising = drifted(*(1 + 0.01 * n for n in range(10)))
    assert rising.p_value < 0.01
    assert rising.steady


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_a_step_inside_a_steady_phase_is_named_as_one(memory: float) -> None:
    durations = series(5, 200, memory)
    durations[120:] *= 1.25
    change = changed(durations)
    assert (change.kind, change.p_value < 0.01) == ("step", True)
    assert change.size == pytest.approx(0.25, abs=0.05)


def test_a_slow_rise_is_a_trend() -> None:
    change = changed(series(6, 300) * np.linspace(1, 1.3, 300))
    assert (change.kind, change.p_value < 0.01) == ("trend", True)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_durations_that_depend_on_each_other_are_no_change(memory: float) -> None:
    found = [changed(series(seed, 100, memory)).p_value for seed in range(100)]
    assert sum(p_value < 0.01 for p_value in found) <= 3
