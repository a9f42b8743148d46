import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.measure.statistics import iterations_needed, quantile, summarise

DURATIONS = st.lists(st.integers(1, 10**12), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("percentile", "count"), [(0.5, 11), (0.9, 64), (0.95, 130), (0.99, 662), (0.999, 6636)]
)
def test_counts_are_those_of_mlperfs_early_stopping_rule(percentile: float, count: int) -> None:
    assert iterations_needed(percentile) == count


@given(DURATIONS, st.floats(0, 1))
def test_quantiles_agree_with_numpy(durations: list[int], fraction: float) -> None:
    assert quantile(durations, fraction) == pytest.approx(np.quantile(durations, fraction))


@given(DURATIONS, st.integers(1, 64))
def test_a_summary_agrees_with_the_raw_durations(durations: list[int], batch_size: int) -> None:
    summary = summarise(durations, batch_size)
    assert summary.iterations == len(durations)
    assert summary.latency_mean_s == pytest.approx(statistics.fmean(durations) / 1e9)
    assert summary.latency_median_s == pytest.approx(statistics.median(durations) / 1e9)
    assert summary.latency_min_s == min(durations) / 1e9
    assert summary.latency_max_s == max(durations) / 1e9
    assert summary.throughput == pytest.approx(batch_size / summary.latency_mean_s)
    assert summary.latency_min_s <= summary.latency_median_s <= summary.latency_max_s


@given(DURATIONS)
def test_p90_appears_only_when_supported(durations: list[int]) -> None:
    summary = summarise(durations, 1)
    assert (summary.latency_p90_s is not None) == (len(durations) >= 64)
    assert summary.latency_p90_iterations_needed == 64


def test_one_iteration_has_no_deviation() -> None:
    assert summarise([5], 1).latency_stddev_s is None
    assert math.isclose(summarise([1, 3], 1).latency_stddev_s or 0, math.sqrt(2) / 1e9)
