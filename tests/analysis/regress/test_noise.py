"""Noise of a series: its sources in their order, and what each makes of one difference."""

import math
from typing import Any

import pytest

from analysis.regress.noise import APART, RUN_PRIOR, noise_between, noise_of_pair
from analysis.statistics.paired import PairedRatio
from analysis.statistics.significance import student_quantile
from tests.support.observed import an_observation, past_results

FIVE = (1.00, 1.01, 0.99, 1.02, 0.98)
CALIBRATED = {
    "process_spread": 0.02,
    "process_spread_processes": 10,
    "process_spread_degrees": 9.0,
    "process_spread_queue": None,
}
DEFAULT = {"process_spread": 0.04, "process_spread_processes": None}


def within(launches: tuple[float, ...]) -> float:
    logarithms = [math.log(value) for value in launches]
    mean = sum(logarithms) / len(logarithms)
    return sum((value - mean) ** 2 for value in logarithms) / (len(logarithms) - 1)


@pytest.mark.parametrize(
    ("launches", "runs", "facts", "source"),
    [
        (FIVE, 5, CALIBRATED, "history"),
        (FIVE, 4, CALIBRATED, "launches"),
        (FIVE, 0, CALIBRATED, "launches"),
        ((1.0,), 5, CALIBRATED, "history"),
        ((1.0,), 1, CALIBRATED, "launches"),
        ((1.0,), 0, CALIBRATED, "calibration"),
        ((1.0,), 0, DEFAULT, "study"),
        ((1.0, 1.01), 0, {}, "study"),
    ],
)
def test_the_first_source_that_tells_it_is_taken(
    launches: tuple[float, ...], runs: int, facts: dict[str, Any], source: str
) -> None:
    before, after = an_observation(launches, 100), an_observation(launches, 101, **facts)
    noise = noise_between(before, after, [past_results([FIVE] * runs)] if runs else [])
    assert noise is not None
    assert noise.source == source


def test_launches_of_both_sides_tell_their_spread_and_the_study_what_runs_add() -> None:
    noise = noise_between(an_observation(FIVE, 0), an_observation(FIVE, 1), [])
    assert noise is not None
    spread = noise.difference(5, 5)
    runs = 2 * RUN_PRIOR.ratio**2
    assert spread.error**2 == pytest.approx(within(FIVE) * (2 / 5 + runs))
    prior = 2 * (1 / 5 + RUN_PRIOR.ratio**2)
    degrees = prior**2 / (prior**2 / 8 + prior**2 / RUN_PRIOR.known_degrees)
    assert spread.degrees == pytest.approx(degrees)
    assert "8 degrees of freedom" in noise.basis


def test_runs_of_a_history_are_spread_about_their_own_level() -> None:
    """A step between levels is no noise; a result of the history is not counted twice."""
    levels = [past_results([(1.0,), (1.02,), (1.0,)]), past_results([(2.0,), (2.04,), (2.0,)], 3)]
    noise = noise_between(an_observation((2.0,), 5), an_observation((2.0,), 6), levels)
    assert noise is not None
    spread = math.log(1.02) ** 2 * 2 / 3 / 2
    assert noise.difference(1, 1).error ** 2 == pytest.approx(2 * spread)
    assert noise.difference(1, 1).degrees == 4
    assert noise.basis == "6 runs with 6 launches"


def test_a_calibration_tells_what_processes_differ_by() -> None:
    noise = noise_between(an_observation((1.0,), 0), an_observation((1.0,), 1, **CALIBRATED), [])
    assert noise is not None
    spread = noise.difference(1, 1)
    assert spread.error == pytest.approx(0.02 * math.sqrt(2 + 2 * RUN_PRIOR.ratio**2))
    assert 5 < spread.degrees < 9


def test_of_single_launches_a_hundredth_of_the_studys_pairs_is_further_apart() -> None:
    noise = noise_between(
        an_observation((1.0,), 0, grade="B"), an_observation((1.0,), 1, grade="C"), []
    )
    assert noise is not None
    spread = noise.difference(1, 1)
    beyond = student_quantile(0.99, spread.degrees) * spread.error
    assert beyond == pytest.approx(APART["C"].p99)


def test_rounds_side_by_side_tell_it_by_their_ratios() -> None:
    """These are 1.1 and 1.2, turn about; a look has its share of the level."""
    pair = PairedRatio(tuple(map(math.log, (1.1, 1.2, 1.1, 1.2))), (4, 16))
    noise = noise_of_pair(pair)
    deviation = math.log(1.2 / 1.1) / 2 * math.sqrt(4 / 3)
    assert noise.difference(4, 4).error == pytest.approx(deviation / 2)
    assert noise.difference(4, 4).degrees == 3
    assert (noise.source, noise.basis) == ("pairs", "4 rounds side by side")
    assert [noise.share(rounds) for rounds in (4, 16)] == [0.5, 0.5]
