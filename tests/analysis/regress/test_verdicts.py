"""Verdicts on a difference: effect, noise and evidence must agree; and the pairs that they take."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from analysis.regress.noise import LOOKS, SeriesNoise, share_of_look
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
from analysis.statistics.significance import LEVEL, student_quantile
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
    [
        (1, LOOKS),
        (3, LOOKS),
        (10, LOOKS),
        (11, (12, *LOOKS[2:])),  # in the place of 16, whose share it takes
        (16, LOOKS[1:]),
        (30, (30, *LOOKS[4:])),
        (300, (300,)),
    ],
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
        (0.03, 0.05, 27, 48),
        (0.03, 0.30, LOOKS[-1] - 1, LOOKS[-1]),  # the last look is the end
    ],
)
def test_pairs_are_added_while_a_comparison_is_undecided(
    shift: float, deviation: float, taken: int, pairs: int
) -> None:
    assert pairs_to_take(*launches(shift, deviation, taken), LOOKS, THRESHOLD) == pairs


@pytest.mark.parametrize("ends", [LOOKS, (9, 12, 28, 40, 80, 100, 300), (16, 200)])
def test_looks_share_the_level_wherever_time_ends_them(ends: Sequence[int]) -> None:
    assert sum(map(share_of_look, ends)) <= 1 + 1e-9
    assert sum(map(share_of_look, LOOKS)) == pytest.approx(1)
    assert 2 / 2 ** LOOKS[0] < LEVEL * share_of_look(LOOKS[0])  # the first look can decide


NOISY = 0.26 / math.sqrt(2)
"""A pull request's launches of another machine: pairs that differed by 26 %."""


@pytest.mark.slow
def test_no_more_false_alarms_than_the_level_over_all_looks() -> None:
    """Also if none of them ends it."""
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(200):
        before, after = random.normal(0.0, NOISY, size=(2, LOOKS[-1])).tolist()
        ends = [verdict_on_pairs(before[:look], after[:look], THRESHOLD) for look in LOOKS]
        alarms += bool({"regression", "improvement"} & {*ends})
    assert alarms <= LEVEL * 200


@pytest.mark.slow
def test_a_tenth_slower_is_decided_where_28_pairs_left_it_open() -> None:
    random = np.random.default_rng(12)
    ends, open_before = [], 0
    for _ in range(40):
        before, after = random.normal(0.0, NOISY, size=(2, LOOKS[-1]))
        sides = before.tolist(), (after + math.log(1.10)).tolist()
        taken = pairs_taken(*sides)
        open_before += taken > 28
        ends.append(verdict_on_pairs(*(side[:taken] for side in sides), THRESHOLD))
    assert ends.count("regression") >= 36
    assert {*ends} <= {"regression", "inconclusive"}
    assert open_before >= 30


def pairs_taken(before: Sequence[float], after: Sequence[float]) -> int:
    sides = before, after
    return next(
        look
        for look in LOOKS
        if pairs_to_take(*(side[: look - 1] for side in sides), LOOKS, THRESHOLD) == look
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_looks_keep_the_level_and_find_three_per_cent() -> None:
    """Of launches with a coefficient of variation of 2 %, as the bars of the issue ask."""
    random = np.random.default_rng(7)

    def verdicts(shift: float) -> list[str]:
        ends = []
        for _ in range(1_000):
            noise = random.normal(0.0, 0.02, size=(2, LOOKS[-1]))
            before, after = noise[0].tolist(), (noise[1] + shift).tolist()
            taken = pairs_taken(before, after)
            ends.append(verdict_on_pairs(before[:taken], after[:taken], THRESHOLD))
        return ends

    assert verdicts(0.0).count("no change") > 900
    assert sum(verdict in ("regression", "improvement") for verdict in verdicts(0.0)) <= 10
    assert verdicts(math.log(1.03)).count("regression") >= 950
