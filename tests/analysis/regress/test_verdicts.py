"""Verdicts on a difference: effect, noise and evidence must agree; and the pairs that they take."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from analysis.regress.noise import LOOKS, SeriesNoise
from analysis.regress.verdicts import (
    LevelShift,
    is_baseline_first,
    launches_to_decide,
    looks_from,
    pairs_to_take,
    threshold_to_decide,
    verdict_on,
    verdict_on_pairs,
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
    shown = falling(1.06, 0.05)
    count = launches_to_decide(shown, 0.05)
    assert count is not None
    least = (student_quantile(0.99, 8) * 0.05 / math.log(1.06)) ** 2 * 2
    assert count == math.ceil(least)
    excluded = launches_to_decide(falling(1.0, 0.05), 0.05)
    assert excluded == math.ceil((student_quantile(0.95, 8) * 0.05 / math.log(1.05)) ** 2 * 2)


THRESHOLD = 0.03


def launches(shift: float, deviation: float, pairs: int) -> tuple[list[float], list[float]]:
    """Both sides of so many pairs whose differences alternate about a shift."""
    before = [0.1 * number for number in range(pairs)]
    spread = [deviation * (1 if number % 2 else -1) for number in range(pairs)]
    return before, [value + shift + one for value, one in zip(before, spread, strict=True)]


def test_the_order_is_mirrored_so_that_an_even_drift_adds_to_both_alike() -> None:
    order = "".join("ba" if is_baseline_first(pair) else "ab" for pair in range(1, 11))
    assert order == "abba" * 5
    places = {side: [at for at, name in enumerate(order) if name == side] for side in "ab"}
    assert sum(places["a"]) == sum(places["b"])
    assert order.endswith("a")


@pytest.mark.parametrize(
    ("rounds", "looks"),
    [(1, LOOKS), (3, LOOKS), (10, LOOKS), (11, (12, 16, 28)), (16, (16, 28)), (30, (30,))],
)
def test_a_comparison_takes_at_least_the_rounds_that_were_asked_for(
    rounds: int, looks: Sequence[int]
) -> None:
    assert looks_from(rounds) == tuple(looks)
    assert all(look % 2 == 0 for look in looks)


@pytest.mark.parametrize(
    ("shift", "deviation", "taken", "pairs"),
    [
        (0.0, 0.002, 0, 10),  # nothing is known yet
        (0.0, 0.002, 9, 10),  # surely no change
        (0.10, 0.005, 9, 10),  # surely one
        (-0.10, 0.005, 9, 10),
        (0.03, 0.03, 9, 16),  # neither
        (0.03, 0.03, 10, 16),
        (0.10, 0.005, 10, 16),  # it was undecided after nine
        (0.03, 0.05, 15, 28),
        (0.05, 0.01, 15, 16),
        (0.03, 0.05, 27, 28),  # the last look is the end
    ],
)
def test_pairs_are_added_while_a_comparison_is_undecided(
    shift: float, deviation: float, taken: int, pairs: int
) -> None:
    sides = launches(shift, deviation, taken)
    assert pairs_to_take(*sides, LOOKS, THRESHOLD) == pairs


@pytest.mark.nightly
@pytest.mark.slow
def test_three_looks_keep_the_level_and_find_three_per_cent() -> None:
    """Of launches with a coefficient of variation of 2 %, as the bars of the issue ask."""
    random = np.random.default_rng(7)

    def verdicts(shift: float) -> list[str]:
        ends = []
        for _ in range(1_000):
            noise = random.normal(0.0, 0.02, size=(2, LOOKS[-1]))
            before, after = noise[0].tolist(), (noise[1] + shift).tolist()
            taken = next(
                look
                for look in LOOKS
                if pairs_to_take(*(side[: look - 1] for side in (before, after)), LOOKS, THRESHOLD)
                == look
            )
            ends.append(verdict_on_pairs(before[:taken], after[:taken], THRESHOLD))
        return ends

    assert verdicts(0.0).count("no change") > 900
    assert sum(verdict in ("regression", "improvement") for verdict in verdicts(0.0)) <= 10
    assert verdicts(math.log(1.03)).count("regression") >= 950
