import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

from runner.measure.statistics.percentiles import (
    NEEDED,
    PERCENTILE_FRACTIONS,
    WIDEST_BOUNDS,
    Interval,
    fewest,
    iterations_needed,
    median_interval,
    percentile_bounds,
    quantile,
    supported_percentiles,
)
from runner.measure.statistics.spread import Floats


def interval_of(durations: list[int] | Floats, effective: float, seed: int = 0) -> Interval:
    interval = median_interval(durations, effective, seed)
    assert interval is not None
    return interval


def random(seed: int = 0) -> Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [6, 7, 50, 51, 400])
def test_it_agrees_with_scipys_bootstrap(count: int) -> None:
    durations = random(1).lognormal(0, 0.2, count)
    expected = stats.bootstrap(
        (durations,), np.median, n_resamples=10_000, method="percentile", rng=random(2)
    ).confidence_interval
    interval = interval_of(durations, count)
    width = expected.high - expected.low
    assert interval.low == pytest.approx(expected.low, abs=0.1 * width)
    assert interval.high == pytest.approx(expected.high, abs=0.1 * width)


@pytest.mark.parametrize("size", [1, 2, 5, 12, 40])
def test_smaller_resamples_agree_with_those_drawn_by_hand(size: int) -> None:
    durations = random(3).lognormal(0, 0.2, 40)
    medians = np.median(random(4).choice(durations, (20_000, size)), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    interval = interval_of(durations, size)
    assert interval.low == pytest.approx(low, abs=0.1 * (high - low))
    assert interval.high == pytest.approx(high, abs=0.1 * (high - low))


def test_durations_that_repeat_each_other_give_a_wider_interval() -> None:
    durations = random(5).lognormal(0, 0.1, 500)
    precisions = [interval_of(durations, effective).precision or 0 for effective in (500, 50, 5)]
    assert precisions[0] * 2 < precisions[1]
    assert precisions[1] * 2 < precisions[2]


def test_intervals_enclose_the_true_median_as_often_as_they_say() -> None:
    draws = random(6).lognormal(0, 0.1, (1000, 25))
    intervals = [interval_of(durations, 25) for durations in draws]
    enclosing = sum(interval.low <= 1 <= interval.high for interval in intervals)
    assert enclosing == pytest.approx(950, abs=30)


@pytest.mark.parametrize(("confidence", "count"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_the_fewest_durations_are_those_of_the_sign_test(confidence: float, count: int) -> None:
    assert fewest(confidence) == count
    assert 1 - 2 * 0.5**count >= confidence > 1 - 2 * 0.5 ** (count - 1)
    assert all(median_interval([5] * few, few) is None for few in range(fewest()))


DURATIONS_PERCENTILES = st.lists(st.integers(1, 10**12), min_size=1, max_size=200)


@pytest.mark.parametrize("percentile", PERCENTILE_FRACTIONS.values())
def test_a_count_is_the_first_whose_binomial_says_99_percent(percentile: float) -> None:
    """MLPerf's early-stopping rule."""
    count = iterations_needed(percentile)
    assert stats.binom.cdf(1, count, 1 - percentile) <= 0.01
    assert stats.binom.cdf(1, count - 1, 1 - percentile) > 0.01
    assert NEEDED == {"p50": 11, "p90": 64, "p95": 130, "p99": 662, "p999": 6636}


@given(DURATIONS_PERCENTILES, st.floats(0, 1))
def test_quantiles_are_hyndman_and_fans_definition_7(durations: list[int], fraction: float) -> None:
    expected = stats.mstats.mquantiles(durations, [fraction], alphap=1, betap=1)[0]
    assert quantile(durations, fraction) == pytest.approx(expected)
    assert (quantile(durations, 0), quantile(durations, 1)) == (min(durations), max(durations))


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
    assert supported_percentiles(independent(NEEDED[name] - 1))[name] is None
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
    percentile = supported_percentiles(queued(load, 10_000))["p99"]
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
