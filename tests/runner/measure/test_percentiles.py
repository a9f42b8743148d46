import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.measure.percentiles import (
    NEEDED,
    PERCENTILES,
    iterations_needed,
    percentiles_s,
    quantile,
)

DURATIONS = st.lists(st.integers(1, 10**12), min_size=1, max_size=200)


def test_counts_are_those_of_mlperfs_early_stopping_rule() -> None:
    assert NEEDED == {"p50": 11, "p90": 64, "p95": 130, "p99": 662, "p999": 6636}


@pytest.mark.parametrize("percentile", PERCENTILES.values())
def test_a_count_is_the_first_whose_binomial_says_99_percent(percentile: float) -> None:
    count = iterations_needed(percentile)
    assert stats.binom.cdf(1, count, 1 - percentile) <= 0.01
    assert stats.binom.cdf(1, count - 1, 1 - percentile) > 0.01


@given(DURATIONS, st.floats(0, 1))
def test_quantiles_are_hyndman_and_fans_definition_7(durations: list[int], fraction: float) -> None:
    expected = stats.mstats.mquantiles(durations, [fraction], alphap=1, betap=1)[0]
    assert quantile(durations, fraction) == pytest.approx(expected)


@given(DURATIONS)
def test_quantiles_stay_within_the_durations(durations: list[int]) -> None:
    assert quantile(durations, 0) == min(durations)
    assert quantile(durations, 1) == max(durations)


@pytest.mark.parametrize("name", PERCENTILES)
def test_a_percentile_appears_as_soon_as_it_is_supported(name: str) -> None:
    durations = list(range(1, NEEDED[name] + 1))
    assert percentiles_s(durations[:-1])[name] is None
    assert percentiles_s(durations)[name] == pytest.approx(
        quantile(durations, PERCENTILES[name]) / 1e9
    )


def test_every_percentile_has_a_place_even_without_durations() -> None:
    assert percentiles_s([]) == dict.fromkeys(PERCENTILES)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=30))
def test_percentiles_rise(durations: list[int]) -> None:
    found = [value for value in percentiles_s(durations * 6636).values() if value is not None]
    assert len(found) == 5
    assert found == sorted(found)
