import statistics
from dataclasses import asdict, fields
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.record.measured import Timing
from runner.measure.statistics.percentiles import NEEDED, Interval, median_interval
from runner.measure.statistics.spread import effective_count
from runner.measure.statistics.summary import (
    LatencySummary,
    distribution,
    interval_columns,
    mean_and_median,
    median_columns,
    summarise,
)
from runner.measure.statistics.tails import percentile_columns

DURATIONS = st.lists(st.integers(1, 10**12), min_size=1, max_size=200)


def summary_of(durations: list[int], batch_size: int = 1) -> LatencySummary:
    return summarise(durations, samples=batch_size * len(durations), steady_ns=sum(durations))


def test_its_fields_are_the_records_columns_in_their_order() -> None:
    columns = list(Timing.model_fields)
    steady = columns[columns.index("iterations") : columns.index("effective_iterations") + 1]
    of_rounds = (
        *("rounds", "round_iterations", "round_medians", "latency_between_process_cv"),
        *("effective_rounds", "round_degrees", "process_spread", "process_spread_source"),
        *("process_spread_processes", "process_spread_degrees", "process_spread_queue"),
    )
    expected = [name for name in steady if name not in of_rounds]
    assert [field.name for field in fields(LatencySummary)] == expected
    draws = np.random.default_rng(0).integers(10, 13, 2_000)
    assert Timing(**asdict(summary_of(draws.tolist()))).latency_p99_high_s is not None


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
    columns = asdict(summary_of(durations))
    for name, needed in NEEDED.items():
        assert columns[f"latency_{name}_s"] is None or len(durations) >= needed
    assert columns["percentile_iterations_needed"] == NEEDED


def test_a_single_iteration_leaves_out_what_it_cannot_tell() -> None:
    unknown = {name for name, value in asdict(summary_of([5])).items() if value is None}
    interval = {"latency_median_low_s", "latency_median_high_s", "latency_precision"}
    percentiles = set(percentile_columns("latency", []))
    assert unknown == interval | percentiles | {"latency_stddev_s", "latency_cv", "autocorrelation"}


def test_throughput_counts_the_whole_window_even_if_it_is_longer_than_its_iterations() -> None:
    assert summarise([10**9, 10**9], samples=8, steady_ns=4 * 10**9).throughput == 2
    assert summarise([0, 0], samples=2, steady_ns=0).throughput is None


def test_many_iterations_are_all_counted() -> None:
    draws = np.random.default_rng(0).lognormal(16, 0.1, 100_000)
    summary = summary_of([int(value) for value in draws])
    assert summary.outliers > 0
    assert summary.effective_iterations > 90_000
    assert summary.latency_p999_s is not None


@given(DURATIONS)
def test_a_distribution_is_that_of_the_latency_under_another_name(durations: list[int]) -> None:
    columns = asdict(summary_of(durations))
    names = [f"latency_{name}_s" for name in ("mean", "median", "stddev")]
    names += percentile_columns("latency", [])
    expected = {name.replace("latency", "token"): columns[name] for name in names}
    assert distribution("token", durations) == pytest.approx(expected)


def stage_columns(durations: list[int]) -> dict[str, float | None]:
    interval = median_interval(durations, effective_count(durations))
    return median_columns("load", durations, interval)


def test_parts_have_a_mean_and_a_median_and_stages_a_median_with_its_interval() -> None:
    columns = mean_and_median("forward", [10**9, 2 * 10**9, 6 * 10**9])
    assert columns == {"forward_mean_s": 3.0, "forward_median_s": 2.0}
    stages = stage_columns([10**9, 3 * 10**9])
    assert stages == {"load_median_s": 2.0, "load_median_low_s": None, "load_median_high_s": None}
    stages = stage_columns([value * 10**9 for value in (3, 1, 4, 2, 6, 5, 7)])
    low, high = stages["load_median_low_s"], stages["load_median_high_s"]
    assert low is not None
    assert high is not None
    assert 1 <= low < 4 < high <= 7
    for columns_of in (distribution, mean_and_median, partial(median_columns, interval=None)):
        assert set(columns_of("forward", []).values()) == {None}


def test_an_intervals_ends_are_columns_in_seconds() -> None:
    columns = interval_columns("token", Interval(1e9, 2e9, 4e9))
    assert columns == {"token_median_low_s": 1.0, "token_median_high_s": 4.0}
    assert set(interval_columns("token", None).values()) == {None}
