"""Ratios side by side: a round's value, what their interval and test hold, and their outcomes."""

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev

import pytest
from hypothesis import strategies as st

from analysis.results.metrics import METRICS
from analysis.statistics.paired import (
    ALARM_LEVEL,
    EXPECTED_DEGREES,
    PairedRatio,
    RoundRatio,
    round_ratio,
    share_of_look,
)
from analysis.statistics.ratios import (
    RatioOutcome,
    counted_words,
    deciding_lines,
    outcome_facts,
    side_by_side_words,
)
from analysis.statistics.significance import adjusted_p_values, student_p_value
from orchestrator.planning.groups import LOOKS, looks_of
from runner.contract.job import PROFILES
from tests.support.properties import property_test
from tests.support.side_by_side import round_of

STANDARD = (3, 6, 12)
LATENCY = METRICS["latency"]
ROUNDS = st.lists(st.floats(-2, 2), min_size=2, max_size=12)
Draw = Callable[[random.Random], float]


def test_a_rounds_value_is_the_median_ratio_of_neighbouring_bursts() -> None:
    """The machine's pace, which both bursts share, is no part of it; a burst alone counts not."""
    pace = (1, 3, 2, 10)
    first = round_of([[100 * one, 100 * one, 500 * one] for one in pace])
    second = round_of([[110 * pace[0]], [120 * pace[1]], [130 * pace[2]], [140 * pace[3]], [7]])
    middle = (math.log(1.2) + math.log(1.3)) / 2
    for one, other, sign in ((first, second, 1), (second, first, -1)):
        ratio = round_ratio(one.sample_medians_ns, other.sample_medians_ns)
        assert ratio is not None
        assert (ratio.logarithm, ratio.bursts) == (pytest.approx(sign * middle), 4)


def test_batches_are_compared_by_the_time_of_a_sample() -> None:
    alone, of_four = round_of([[100], [100]]), round_of([[200], [200]], batch=4)
    ratio = round_ratio(alone.sample_medians_ns, of_four.sample_medians_ns)
    assert ratio is not None
    assert ratio.logarithm == pytest.approx(math.log(0.5))


NOISE: dict[str, Draw] = {
    "normal": lambda chance: chance.gauss(0, 0.01),
    "skewed": lambda chance: chance.expovariate(100),
    "seldom jumps": lambda chance: chance.gauss(0, 0.01) + 0.2 * (chance.random() < 0.05),
}
"""What fresh launches of a side differ by."""


def simulated(draw: Draw, count: int, seed: int, looks: Sequence[int]) -> list[list[PairedRatio]]:
    """Comparisons of equals as they stand at each look; noise of both sides makes the ratio's."""
    chance = random.Random(seed)
    known = []
    for _ in range(count):
        values = [draw(chance) - draw(chance) for _ in range(looks[-1])]
        known.append([PairedRatio(tuple(values[:look]), tuple(looks)) for look in looks])
    return known


@pytest.mark.parametrize("count", [300, pytest.param(4_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("looks", [STANDARD, LOOKS], ids=str)
@pytest.mark.parametrize("noise", NOISE)
def test_looks_keep_the_level_together_and_the_interval_its_confidence(
    noise: str, looks: Sequence[int], count: int
) -> None:
    """Also if no look ends the comparison, and at whichever look it ends."""
    comparisons = simulated(NOISE[noise], count, 49, looks)
    alarms = sum(any(look.is_apart for look in one) for one in comparisons)
    assert alarms <= ALARM_LEVEL * count + 2 * math.sqrt(ALARM_LEVEL * count)
    ends = [
        next((look for look in one if look.is_decided(0.01)), one[-1]).interval
        for one in comparisons
    ]
    covered = sum(end.low <= 1 <= end.high for end in ends)
    assert covered >= 0.95 * count - 2 * math.sqrt(0.05 * count)


WITHIN, BURSTS = 0.06, 16
"""What bursts of a round scatter by, on a shared machine."""


def drawn_rounds(chance: random.Random, ratio: float, apart: float, count: int) -> list[RoundRatio]:
    """Rounds of launches that differ so much, each the median of bursts around it."""
    rounds = []
    for _ in range(count):
        middle = chance.gauss(math.log(ratio), apart)
        bursts = [chance.gauss(middle, WITHIN) for _ in range(BURSTS)]
        rounds.append(RoundRatio(median(bursts), BURSTS, stdev(bursts)))
    return rounds


@pytest.mark.parametrize(
    ("ratio", "apart", "looks", "found"),
    [
        (1.0425, 0.02, (6, 12), range(88, 101)),
        (1.2, 0.03, (3,), range(95, 101)),
        (1.0, 0.02, (3,), range(2)),
        (1.0, 0.03, (3,), range(2)),
        (1.0, 0.03, (6, 12, 24), range(2)),
        (1.0, 0.05, (6, 12, 24), range(4)),
    ],
)
def test_what_bursts_scatter_by_tells_beforehand_what_rounds_differ_by(
    ratio: float, apart: float, looks: tuple[int, ...], found: range
) -> None:
    """Few rounds decide then, and equals stay equal, also if launches differ more than usual."""
    chance, alarms = random.Random(49), 0
    for _ in range(100):
        rounds = drawn_rounds(chance, ratio, apart, looks[-1])
        alarms += any(PairedRatio.of(rounds[:look], looks).is_apart for look in looks)
    assert alarms in found


def test_a_difference_that_ends_a_comparison_lasts_among_all_cells_of_the_run() -> None:
    """One cell of twenty is 3 % slower, and the run is judged by the share of false discoveries."""
    chance, cells, found, accused = random.Random(49), 20, 0, 0
    for _ in range(20):
        p_values = []
        for cell in range(cells):
            rounds = drawn_rounds(chance, 1.03 if cell == 0 else 1.0, 0.01, LOOKS[-1])
            seen = [PairedRatio.of(rounds[:look], LOOKS) for look in LOOKS]
            end = next((one for one in seen if one.is_decided(0.02, cells)), seen[-1])
            distance = abs(fmean(end.logarithms)) / end.error
            share = share_of_look(len(end.logarithms), LOOKS)
            p_values.append(student_p_value(distance, end.degrees) / share)
        named = [value <= ALARM_LEVEL for value in adjusted_p_values(p_values)]
        found += named[0]
        accused += any(named[1:])
    assert (found, accused) == (20, 0)


def test_more_rounds_count_for_more_than_what_is_expected() -> None:
    few, many = (PairedRatio((0.1, -0.1) * count, LOOKS, 0.01, 8) for count in (2, 100))
    assert few.deviation < 0.8 * few.between
    assert many.deviation == pytest.approx(many.between, rel=0.02)
    assert (few.degrees, many.degrees) == (3 + EXPECTED_DEGREES, 199 + EXPECTED_DEGREES)
    alone = PairedRatio((0.1,), LOOKS, 0.01, 8)
    assert alone.deviation == math.inf


@property_test(200, ROUNDS, st.floats(-1, 1))
def test_neither_the_direction_nor_the_level_matters_to_the_noise(
    values: list[float], shift: float
) -> None:
    ratio = PairedRatio(tuple(values), STANDARD, 0.1, 8)
    there, back = ratio.interval, ratio.inverse.interval
    assert (back.value, back.low, back.high) == pytest.approx(
        (1 / there.value, 1 / there.high, 1 / there.low)
    )
    assert ratio.inverse.inverse == ratio
    turned = {"better": "worse", "worse": "better"}
    kind = ratio.outcome(0.05).kind
    assert ratio.inverse.outcome(0.05).kind == turned.get(kind, kind)
    moved = PairedRatio(tuple(value + shift for value in values), STANDARD, 0.1, 8)
    assert moved.interval.value == pytest.approx(there.value * math.exp(shift))
    assert moved.between == pytest.approx(ratio.between, abs=1e-9)
    assert math.log(moved.interval.high / moved.interval.low) == pytest.approx(
        math.log(there.high / there.low), abs=1e-6
    )


@property_test(100, st.floats(-2, 2), st.integers(2, 30), st.floats(0.001, 0.5))
def test_rounds_that_agree_to_the_last_digit_have_no_error(
    value: float, rounds: int, threshold: float
) -> None:
    ratio = PairedRatio((value,) * rounds, STANDARD)
    assert ratio.between == 0
    exact = math.exp(fmean(ratio.logarithms))
    assert (ratio.interval.low, ratio.interval.high) == (exact, exact)
    kind = "better" if value > 0 else "worse"
    expected = "equal" if abs(value) < math.log1p(threshold) else kind
    if abs(abs(value) - math.log1p(threshold)) > 1e-9:
        assert ratio.outcome(threshold).kind == expected


@property_test(100, st.floats(-5, 5), st.floats(0.01, 10))
def test_a_single_round_decides_nothing(value: float, threshold: float) -> None:
    alone = PairedRatio((value,), STANDARD)
    assert not alone.is_decided(threshold)
    assert (alone.outcome(threshold).kind, alone.between) == ("undecided", math.inf)


@property_test(100, st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True))
def test_looks_share_the_whole_level_wherever_time_ends_them(ends: list[int]) -> None:
    looks = sorted(ends)
    assert sum(share_of_look(look, looks) for look in looks) == pytest.approx(1)
    for rounds in range(1, looks[-1] + 1):
        assert share_of_look(rounds, looks) == share_of_look(
            next(look for look in looks if look >= rounds), looks
        )


@pytest.mark.parametrize(
    ("values", "threshold", "refusal", "outcome"),
    [
        ((0.2, 0.21, 0.19), 0.05, None, RatioOutcome("better", rounds=3)),
        ((-0.2, -0.21, -0.19), 0.05, None, RatioOutcome("worse", rounds=3)),
        ((0.001, 0.0, -0.001), 0.05, None, RatioOutcome("equal", rounds=3)),
        ((0.001, 0.0, -0.001), 0.0, None, RatioOutcome("undecided", "few_rounds", 3)),
        ((0.2, 0.5, 0.0), 0.05, None, RatioOutcome("undecided", "few_rounds", 3)),
        # A difference less than the threshold that is sure is one, unless all of it lies within.
        ((0.03, 0.0301, 0.0299), 0.02, None, RatioOutcome("better", rounds=3)),
        ((0.03, 0.0301, 0.0299), 0.05, None, RatioOutcome("equal", rounds=3)),
        ((0.2, 0.21, 0.19), 0.05, "unquotable", RatioOutcome("undecided", "unquotable", 3)),
    ],
)
def test_the_outcome_needs_no_grade_but_what_refuses_a_comparison_refuses_it(
    values: tuple[float, ...], threshold: float, refusal: str | None, outcome: RatioOutcome
) -> None:
    assert PairedRatio(values, STANDARD).outcome(threshold, refusal) == outcome


def test_outcomes_say_in_how_many_rounds_they_were_side_by_side() -> None:
    better, equal = RatioOutcome("better", rounds=6), RatioOutcome("equal", rounds=3)
    alone, open_ = RatioOutcome("worse"), RatioOutcome("undecided", "few_rounds", 12)
    assert better.words(LATENCY) == "faster, side by side in 6 rounds"
    assert equal.words(LATENCY) == "equal within 5 %, side by side in 3 rounds"
    assert alone.words(LATENCY) == "slower"
    why = "undecided (rounds disagree), side by side in 12 rounds"
    assert open_.words(LATENCY) == why
    assert side_by_side_words([alone, None]) == ""
    assert side_by_side_words([better, None]) == ", side by side in 6 rounds"
    counted = counted_words([(better, 1.3), (None, 1.0), (equal, 1.0), (alone, 0.9)], LATENCY)
    assert counted.endswith(", 2 of 3 side by side in 3 to 6 rounds")
    facts = outcome_facts(open_, LATENCY)
    assert facts == {
        "outcome": "undecided",
        "undecided_because": "few_rounds",
        "side_by_side_rounds": 12,
    }
    assert outcome_facts(None, LATENCY)["side_by_side_rounds"] is None


def test_too_few_rounds_name_what_decides_as_the_profiles_take_it() -> None:
    (line,) = deciding_lines([RatioOutcome("undecided", "few_rounds", 3)], "last")
    most = {name: looks_of(PROFILES[name])[-1] for name in ("standard", "audit")}
    assert line == (
        "Undecided (rounds disagree): more rounds side by side, of which"
        f" `--profile standard` takes up to {most['standard']} and `audit` up to {most['audit']},"
        " or a quieter machine."
    )
