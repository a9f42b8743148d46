import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.measure.statistics.percentiles import NEEDED
from runner.measure.statistics.summary import LatencySummary, summarise

DURATIONS = st.lists(st.integers(1, 10**12), min_size=1, max_size=200)


def summary_of(durations: list[int], batch_size: int = 1) -> LatencySummary:
    return summarise(durations, samples=batch_size * len(durations), steady_ns=sum(durations))


@given(DURATIONS, st.integers(1, 64))
def test_it_agrees_with_the_raw_durations(durations: list[int], batch_size: int) -> None:
    summary = summary_of(durations, batch_size)
    assert summary.iterations == len(durations)
    assert summary.steady_time_s == pytest.approx(sum(durations) / 1e9)
    assert summary.latency_mean_s == pytest.approx(statistics.fmean(durations) / 1e9)
    assert summary.latency_median_s == pytest.approx(statistics.median(durations) / 1e9)
    assert summary.latency_min_s == pytest.approx(min(durations) / 1e9)
    assert summary.latency_max_s == pytest.approx(max(durations) / 1e9)
    assert summary.throughput == pytest.approx(batch_size / summary.latency_mean_s)
    assert summary.latency_min_s <= summary.latency_median_s <= summary.latency_max_s


@given(st.lists(st.integers(1, 10**9), min_size=6, max_size=100))
def test_its_dispersion_and_interval_are_in_seconds_or_a_share(durations: list[int]) -> None:
    summary = summary_of(durations)
    deviation = statistics.stdev(durations)
    assert summary.latency_stddev_s == pytest.approx(deviation / 1e9)
    assert summary.latency_cv == pytest.approx(deviation / statistics.fmean(durations))
    assert 0 <= summary.latency_mad_s <= summary.latency_max_s - summary.latency_min_s
    low, high = summary.latency_median_low_s, summary.latency_median_high_s
    assert low is not None
    assert high is not None
    assert low <= summary.latency_median_s <= high
    half = (high - low) / 2
    assert summary.latency_precision == pytest.approx(half / summary.latency_median_s)


@given(DURATIONS)
def test_percentiles_are_left_out_where_they_are_not_supported(durations: list[int]) -> None:
    columns = summary_of(durations).columns
    for name, needed in NEEDED.items():
        assert columns[f"latency_{name}_s"] is None or len(durations) >= needed
    assert columns["percentile_iterations_needed"] == NEEDED


def test_throughput_counts_the_whole_window_even_if_it_is_longer_than_its_iterations() -> None:
    assert summarise([10**9, 10**9], samples=8, steady_ns=4 * 10**9).throughput == 2
    assert summarise([0, 0], samples=2, steady_ns=0).throughput is None
