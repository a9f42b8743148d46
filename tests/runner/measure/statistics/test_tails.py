"""Percentiles are given where the samples support them, with bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.statistics.percentiles import (
    NEEDED,
    PERCENTILE_FRACTIONS,
    WIDEST_BOUNDS,
    percentile_bounds,
    quantile,
    supported_percentiles,
)
from runner.measure.statistics.spread import Floats


def independent(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).lognormal(0, 0.1, count)


def queued(load: float, count: int) -> Floats:
    """Latencies in a queue with one place, in mean service times of cv 10 % (Lindley 1952)."""
    random = np.random.default_rng(3)
    service = random.lognormal(-0.005, 0.1, count)
    surplus = np.cumsum(service[:-1] - random.exponential(1 / load, count - 1))
    surplus = np.concatenate([[0.0], surplus])
    return np.asarray(surplus - np.minimum.accumulate(surplus) + service)


@pytest.mark.parametrize("name", PERCENTILE_FRACTIONS)
def test_a_percentile_takes_as_many_samples_as_mlperf_asks_for(name: str) -> None:
    few = independent(NEEDED[name] - 1)
    assert supported_percentiles(few)[name] is None
    many = independent(4 * NEEDED[name])
    percentile = supported_percentiles(many)[name]
    assert percentile is not None
    assert percentile.value == quantile(many, PERCENTILE_FRACTIONS[name])
    assert percentile.low <= percentile.value <= percentile.high


def test_most_samples_that_are_independent_and_just_enough_support_it() -> None:
    given_ = sum(supported_percentiles(independent(800, n))["p99"] is not None for n in range(50))
    assert given_ >= 40


def test_samples_that_repeat_each_other_do_not_count() -> None:
    assert supported_percentiles(np.repeat(independent(70), 10))["p99"] is None
    assert supported_percentiles(np.sort(independent(700)))["p99"] is None


@pytest.mark.parametrize(("load", "supported"), [(0.3, True), (0.8, False), (0.95, False)])
def test_a_queue_has_the_percentiles_that_its_load_leaves(load: float, supported: bool) -> None:
    values = queued(load, 10_000)
    percentile = supported_percentiles(values)["p99"]
    assert (percentile is not None) == supported
    if percentile is not None:
        assert percentile.precision <= WIDEST_BOUNDS


@pytest.mark.parametrize("count", [662, 6_620])
def test_bounds_hold_the_true_percentile_as_often_as_they_say(count: int) -> None:
    truth = float(np.exp(0.1 * stats.norm.ppf(0.99)))
    held = 0
    for seed in range(200):
        low, high = percentile_bounds(np.sort(independent(count, seed)), 0.99, count)
        held += low <= truth <= high
    assert held >= 186


@given(st.integers(11, 3_000), st.sampled_from(sorted(PERCENTILE_FRACTIONS.values())))
def test_bounds_are_the_ranks_of_the_binomial(count: int, fraction: float) -> None:
    low, high = percentile_bounds(np.arange(1.0, count + 1), fraction, count)
    binomial = stats.binom(count, fraction)
    if high < count:
        assert binomial.cdf(high - 1) >= 0.975 - 1e-9
        assert binomial.cdf(high - 2) <= 0.975 + 1e-9
    if low > 1:
        assert binomial.cdf(low - 1) <= 0.025 + 1e-9
        assert binomial.cdf(low) >= 0.025 - 1e-9


def test_fewer_independent_samples_give_wider_bounds() -> None:
    ordered = np.sort(independent(10_000))
    widths = [np.ptp(percentile_bounds(ordered, 0.99, count)) for count in (10_000, 2_000, 700)]
    assert widths == sorted(widths)
    assert percentile_bounds(ordered, 0.99, 50)[1] == ordered[-1]
