"""Intervals over fresh processes."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy import stats

from runner.contract.confidence import GROWING_CONFIDENCE
from runner.contract.job import PROFILES, ProcessSpread
from runner.measure.statistics.percentiles import Interval
from runner.measure.statistics.replication import (
    DEFAULT_SPREAD,
    Processes,
    between_cv,
    growing_confidence,
    process_error,
    round_interval,
    spread_of,
    widened,
    widened_percentiles,
)

ENDS = ("_low", "", "_high")


def test_the_interval_of_rounds_is_students() -> None:
    medians = [1.02, 0.97, 1.01, 1.0]
    interval = round_interval(medians, 0.95)
    assert interval is not None
    error = stats.sem(medians)
    expected = stats.t.interval(0.95, 3, np.mean(medians), error)
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-5)
    assert interval.value == pytest.approx(1.0)
    assert round_interval([1.0], 0.95) is None
    assert between_cv([1.0]) is None
    assert between_cv([0.9, 1.1]) == pytest.approx(math.sqrt(0.02))


def test_an_interval_of_times_never_reaches_zero() -> None:
    interval = round_interval([1.0, 9.0], 0.95)
    assert interval is not None
    assert 0 < interval.low < 1 < 9 < interval.high
    lows = [widened(Interval(0.2, 1.0, 3.0), error).low for error in np.linspace(0, 3, 50)]
    assert lows == sorted(lows, reverse=True)
    assert lows[0] <= 0.2
    assert lows[-1] > 0


def test_rounds_whose_number_grows_spend_alpha_beforehand() -> None:
    standard = PROFILES["standard"]
    assert growing_confidence(standard) == GROWING_CONFIDENCE > 0.95
    assert growing_confidence(standard.model_copy(update={"max_rounds": None})) == 0.95


def test_one_process_has_what_processes_differ_by_in_its_interval() -> None:
    interval = widened(Interval(0.99, 1.0, 1.01), DEFAULT_SPREAD.reach)
    assert interval.high - 1 == pytest.approx(math.hypot(0.01, 1.96 * 0.053), rel=1e-3)
    assert DEFAULT_SPREAD.shown == pytest.approx(0.147, abs=0.001)
    measured_at = datetime(2026, 11, 23, tzinfo=UTC)
    known = spread_of(ProcessSpread(cv=0.01, processes=8, measured_at=measured_at))
    assert known.source == "calibration with 8 processes (7 degrees of freedom), 2026-11-23"
    assert known.quantile == pytest.approx(2.365, abs=0.001)
    assert known.safe_deviation == pytest.approx(0.01 * 2.365 / 1.96, rel=1e-3)
    near = spread_of(ProcessSpread(cv=0.01, processes=8, degrees=5, measured_at=measured_at))
    assert near.quantile == pytest.approx(2.571, abs=0.001)
    assert DEFAULT_SPREAD.safe_deviation == DEFAULT_SPREAD.deviation
    assert spread_of(None) is DEFAULT_SPREAD
    assert known.multiplied(1) is known
    assert known.multiplied(3).reach == pytest.approx(3 * known.reach)


def test_percentiles_allow_for_processes_in_quadrature() -> None:
    columns = {"latency_p90_low_s": 9.0, "latency_p90_s": 10.0, "latency_p90_high_s": 12.0}
    none = {f"latency_{name}{end}_s": None for name in ("p95", "p99", "p999") for end in ENDS}
    assert widened_percentiles("latency", columns | none, {"p90": 0.1, "p99": 9.0}) == {
        "latency_p90_low_s": pytest.approx(10 - math.sqrt(2)),
        "latency_p90_high_s": pytest.approx(10 + math.sqrt(5)),
    }


def test_what_processes_differ_by_is_that_of_the_rounds_or_what_is_known() -> None:
    rounds = [[9.0, 10.0, 11.0], [10.0, 10.2, 20.0], [9.8, 9.8, 9.8]]
    apart = Processes(DEFAULT_SPREAD, 0.95, None)
    error = process_error(rounds, apart)
    assert error == pytest.approx(4.3027 * 0.2 / math.sqrt(3) / 10, rel=1e-4)
    assert process_error(rounds, replace(apart, moments_s=[0, 9, 18])) > 1.9 * error
    assert process_error(rounds[:1], apart) == pytest.approx(1.96 * 0.053, rel=1e-3)
