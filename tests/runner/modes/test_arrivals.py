from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.clock import NANOSECONDS
from runner.modes.arrivals import arrivals_ns

SEEDS = st.integers(0, 2**32)
RATES = st.floats(0.1, 10_000)


def schedule(rate: float, seed: int, count: int = 500) -> list[int]:
    return list(islice(arrivals_ns(rate, seed), count))


@given(RATES, SEEDS)
def test_a_schedule_begins_at_once_and_never_goes_back(rate: float, seed: int) -> None:
    due = schedule(rate, seed)
    assert due[0] == 0
    assert all(before <= after for before, after in pairwise(due))


@given(RATES, SEEDS)
def test_the_seed_decides_the_schedule(rate: float, seed: int) -> None:
    assert schedule(rate, seed) == schedule(rate, seed)
    assert schedule(rate, seed) != schedule(rate, seed + 1)


@given(SEEDS)
def test_a_rate_stretches_the_schedule(seed: int) -> None:
    slow, fast = schedule(5, seed), schedule(50, seed)
    assert slow == pytest.approx([10 * due for due in fast], abs=10)


def test_a_seed_may_have_several_numbers() -> None:
    rounds = [list(islice(arrivals_ns(9, [4, number]), 20)) for number in (1, 2)]
    assert rounds[0] != rounds[1]


@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_exponential_with_the_rates_mean(seed: int) -> None:
    gaps_s = np.diff(schedule(20, seed, 5000)) / NANOSECONDS
    assert stats.kstest(gaps_s, stats.expon(scale=1 / 20).cdf).pvalue > 0.01
    assert gaps_s.mean() == pytest.approx(1 / 20, rel=0.05)
