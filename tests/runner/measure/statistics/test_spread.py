import math
import statistics
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.statistics.replication import round_interval
from runner.measure.statistics.spread import (
    SHARED,
    STATE_S,
    Floats,
    autocorrelation,
    effective_count,
    effective_rounds,
    median_deviation,
    outliers,
    ranks,
    stddev,
    variation,
)

DURATIONS = st.lists(st.integers(1, 10**12), min_size=2, max_size=200)


@given(DURATIONS)
def test_deviation_and_variation_are_those_of_a_sample(durations: list[int]) -> None:
    expected = statistics.stdev(durations)
    assert stddev(durations) == pytest.approx(expected)
    assert variation(durations) == pytest.approx(expected / statistics.fmean(durations))
    assert variation(durations) == pytest.approx(stats.variation(durations, ddof=1))


@given(DURATIONS)
def test_median_deviation_and_ranks_are_scipys(durations: list[int]) -> None:
    assert median_deviation(durations) == pytest.approx(stats.median_abs_deviation(durations))
    tied = [duration % 5 for duration in durations]
    assert ranks(tied).tolist() == stats.rankdata(tied).tolist()


@given(DURATIONS)
def test_outliers_are_those_of_iglewicz_and_hoaglin(durations: list[int]) -> None:
    mad = stats.median_abs_deviation(durations)
    if mad > 0:
        scores = 0.6745 * (np.array(durations) - np.median(durations)) / mad
        assert outliers(durations) == sum(abs(score) > 3.5 for score in scores)


@pytest.mark.parametrize(
    ("durations", "count"),
    [
        ([100, 101, 102, 103, 104, 105, 106], 0),
        ([1, 100, 101, 102, 103, 104, 105, 106, 900], 2),
        # Without a median deviation the mean deviation decides.
        ([10] * 20 + [11], 1),
        ([10] * 6 + [11] * 4, 0),
        ([10] * 20, 0),
        ([10], 0),
    ],
)
def test_outliers_lie_on_both_sides(durations: list[int], count: int) -> None:
    assert outliers(durations) == count


@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=100))
def test_autocorrelation_is_the_textbook_sum(durations: list[int]) -> None:
    distances = [duration - statistics.fmean(durations) for duration in durations]
    squares = math.fsum(distance**2 for distance in distances)
    if len(set(durations)) > 1:
        products = math.fsum(a * b for a, b in pairwise(distances))
        assert autocorrelation(durations) == pytest.approx(products / squares, abs=1e-9)


def test_long_autocorrelation_agrees_with_numpys_correlation() -> None:
    durations = repeating(2000, memory=0.7)
    expected = np.corrcoef(durations[1:], durations[:-1])[0, 1]
    assert autocorrelation(durations) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("durations", [[1, 2], [7, 7, 7, 7], [5]])
def test_autocorrelation_is_not_defined_for_few_or_equal_durations(durations: list[int]) -> None:
    assert autocorrelation(durations) is None
    assert effective_count(durations) == len(durations)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=100))
def test_effective_iterations_are_one_to_all_by_the_order_alone(durations: list[int]) -> None:
    assert 1 <= effective_count(durations) <= len(durations)
    stretched = [math.exp(duration / 100) for duration in durations]
    assert effective_count(stretched) == pytest.approx(effective_count(durations))


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_noise_that_forgets_exponentially_obeys_the_familiar_formula(memory: float) -> None:
    effective = effective_count(repeating(20_000, memory))
    assert effective == pytest.approx(20_000 * (1 - memory) / (1 + memory), rel=0.25)


def test_slow_moods_under_fast_noise_are_seen_though_neighbours_hardly_correlate() -> None:
    fast = np.random.default_rng(2).normal(size=20_000)
    moods = repeating(20_000, memory=0.99)
    durations = 100 + fast + 0.5 * moods / np.std(moods)
    neighbours = autocorrelation(durations) or 0.0
    assert neighbours < 0.3
    assert effective_count(durations) < 20_000 * (1 - neighbours) / (1 + neighbours) / 5


def test_a_spike_hides_no_repetition() -> None:
    durations = repeating(2000, memory=0.9)
    durations[1000] += 1e6
    assert (autocorrelation(durations) or 0.0) < 0.01
    assert effective_count(durations) < 400


def repeating(count: int, memory: float) -> Floats:
    """First-order autoregressive noise."""
    noise = np.random.default_rng(3).normal(size=count)
    for index in range(1, count):
        noise[index] += memory * noise[index - 1]
    return noise


REPETITIONS = 2_000


def correlations(moments: list[float]) -> np.ndarray:
    far = np.abs(np.subtract.outer(moments, moments))
    return SHARED * np.exp(-far / STATE_S) + (1 - SHARED) * np.eye(len(moments))


@pytest.mark.parametrize("count", [2, 3, 12])
def test_far_apart_they_are_independent(count: int) -> None:
    days = effective_rounds(count, [86_400.0 * number for number in range(count)])
    assert (days.count, days.degrees) == pytest.approx((count, count - 1))
    assert effective_rounds(count, None) == days


def test_the_longer_the_time_between_them_the_more_they_count() -> None:
    counts = [effective_rounds(6, list(np.arange(6) * gap)).count for gap in (0, 5, 9, 30, 90)]
    assert counts == sorted(counts)
    assert counts[0] == pytest.approx(6 * (1 - SHARED) / (1 + 5 * SHARED))


@pytest.mark.parametrize(
    "moments", [[0.0, 9, 18], [0.0, 9, 18, 27, 36, 45], [0.0, 5, 120, 125, 300]], ids=str
)
def test_the_interval_holds_the_level_of_a_machine_whose_state_lasts(moments: list[float]) -> None:
    """Drawn from the correlations; Student's for independent ones holds it far less often."""
    random = np.random.default_rng(1)
    factor = np.linalg.cholesky(correlations(moments))
    held = np.zeros(2)
    for _ in range(REPETITIONS):
        medians = 1 + 0.03 * factor @ random.standard_normal(len(moments))
        for place, known in enumerate((moments, None)):
            interval = round_interval(medians.tolist(), 0.95, known)
            assert interval is not None
            held[place] += interval.low <= 1 <= interval.high
    share, naive = held / REPETITIONS
    assert 0.93 <= share <= 0.98
    assert naive < 0.9
