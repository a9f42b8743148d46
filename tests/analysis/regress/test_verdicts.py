"""Verdicts on a difference: effect, noise and evidence must agree."""

import math

import pytest

from analysis.regress.noise import SeriesNoise
from analysis.regress.verdicts import (
    LevelShift,
    launches_to_decide,
    threshold_to_decide,
    verdict_on,
)
from analysis.statistics.significance import student_quantile
from analysis.statistics.variance import ShiftSpread

SURE, UNSURE = 0.001, 0.02


def difference(ratio: float, error: float, degrees: float = 8) -> LevelShift:
    """Five launches a side whose ratio has this standard error, whatever their number."""
    noise = SeriesNoise("launches", "a test", lambda before, after: ShiftSpread(error, degrees))
    return LevelShift(math.log(ratio), (5, 5), noise)


@pytest.mark.parametrize(
    ("ratio", "error", "p_value", "verdict"),
    [
        (1.10, 0.01, SURE, "regression"),
        (0.90, 0.01, SURE, "improvement"),
        # Not beyond the noise of the series, however sure the launches are.
        (1.10, 0.04, SURE, "inconclusive"),
        # Beyond the noise, but launches do not show it among so many cells.
        (1.10, 0.01, UNSURE, "inconclusive"),
        # The interval lies within the threshold on both sides, whatever the evidence.
        (1.00, 0.01, UNSURE, "no change"),
        (1.02, 0.005, SURE, "no change"),
        # A difference of 4 % that is sure, and may be one of 5 %.
        (1.04, 0.01, SURE, "regression"),
        (1.00, 0.03, UNSURE, "inconclusive"),
    ],
)
def test_a_verdict_needs_effect_noise_and_evidence(
    ratio: float, error: float, p_value: float, verdict: str
) -> None:
    assert verdict_on(difference(ratio, error), p_value, 0.05, more_is_better=False) == verdict
    turned = {"regression": "improvement", "improvement": "regression"}
    other_way = verdict_on(difference(ratio, error), p_value, 0.05, more_is_better=True)
    assert other_way == turned.get(verdict, verdict)


def test_the_interval_of_the_ratio_is_students() -> None:
    ratio = difference(1.10, 0.01).ratio
    margin = math.exp(2.306 * 0.01)
    assert (ratio.low, ratio.high) == pytest.approx((1.10 / margin, 1.10 * margin), rel=1e-4)


@pytest.mark.parametrize(("ratio", "error"), [(1.0, 0.03), (1.15, 0.05), (0.8, 0.001)])
def test_the_threshold_that_would_decide_is_the_least_that_does(ratio: float, error: float) -> None:
    known = difference(ratio, error)
    enough = threshold_to_decide(known)
    for percent, verdict in ((enough, True), (enough - 1, False)):
        found = verdict_on(known, 1.0, percent / 100, more_is_better=False)
        assert (found == "no change") is verdict


def falling(ratio: float, deviation: float) -> LevelShift:
    """Launches with this deviation, of two runs that differ by nothing else."""
    noise = SeriesNoise(
        "launches",
        "a test",
        lambda before, after: ShiftSpread(deviation * math.sqrt(1 / before + 1 / after), 8),
    )
    return LevelShift(math.log(ratio), (5, 5), noise)


def test_launches_that_would_decide_are_the_fewest_that_do() -> None:
    count = launches_to_decide(falling(1.06, 0.05), 0.05)
    assert count is not None
    least = (student_quantile(0.99, 8) * 0.05 / math.log(1.06)) ** 2 * 2
    assert count == math.ceil(least)
    excluded = launches_to_decide(falling(1.0, 0.05), 0.05)
    assert excluded == math.ceil((student_quantile(0.95, 8) * 0.05 / math.log(1.05)) ** 2 * 2)
