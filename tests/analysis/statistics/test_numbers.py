"""Numbers as people read them."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.numbers import amount, format_number, number_range, signed_percent
from analysis.statistics.ratios import Estimate, change_words, estimate, extent_words, ratio_outcome
from runner.contract.record.verdict import Grade
from tests.support.properties import property_test


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.000123, "0.000123"),
        (0.05, "0.05"),
        (12.345, "12.3"),
        (999.4, "999"),
        (999.6, "1,000"),
        (-999.9, "-1,000"),
        (1234567.8, "1,234,568"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_short_and_readable(value: float, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(min_value=0.001, max_value=1e12))
def test_a_short_number_is_close_and_never_in_powers_of_ten(value: float) -> None:
    text = format_number(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)


def test_an_amount_has_three_digits_that_count() -> None:
    assert [amount(value, "ms") for value in (4.2345, 12345.6)] == ["4.23 ms", "12,300 ms"]
    assert amount(0.5) == "0.5"


def test_ends_that_read_alike_are_said_once() -> None:
    assert number_range([3.0, 1.0, 2.0]) == "1 to 3"
    assert number_range([1.0001, 1.0002]) == "1"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.12, "+12"),
        (0.0912, "+9.1"),
        (-0.034, "-3.4"),
        (0.0, "0"),
        (20.0, ">999"),
        (0.0996, "+10"),
        (-0.0001, "0"),
    ],
)
def test_percentages_have_two_digits_that_count(share: float, text: str) -> None:
    assert signed_percent(share) == text


def test_a_narrow_interval_has_digits_that_tell_its_ends_apart() -> None:
    assert extent_words(Estimate(1.122, 1.1212, 1.1228)) == "12.2 % (12.1 to 12.3 %)"
    assert change_words(Estimate(0.85, 0.849, 0.851)) == "-15.0 % (-15.1 to -14.9 %)"


SHARES = st.floats(0.0, 0.9)
VALUES = st.floats(1e-6, 1e9)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    value = draw(VALUES)
    return Estimate(value, value * (1 - draw(SHARES)), value * (1 + draw(SHARES)))


PAIRS = st.tuples(estimates(), estimates())


def close(one: Estimate, other: Estimate) -> bool:
    ends = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(math.isclose(a, b, rel_tol=1e-9) for a, b in ends)


@property_test(2000, PAIRS)
def test_a_ratio_lies_within_its_interval_and_turns_around(pair: tuple[Estimate, Estimate]) -> None:
    ratio, inverse = pair[0].over(pair[1]), pair[1].over(pair[0])
    assert 0 < ratio.low <= ratio.value * (1 + 1e-12)
    assert ratio.value <= ratio.high * (1 + 1e-12)
    assert close(ratio, Estimate(1 / inverse.value, 1 / inverse.high, 1 / inverse.low))


@pytest.mark.parametrize(
    ("ratio", "best"),
    [
        (Estimate(1.03, 0.99, 1.07), None),
        (Estimate(1.03, 1.01, 1.05), None),
        (Estimate(1.03, 1.02, 1.04), "A"),
        (Estimate(1.10, 1.08, 1.12), "B"),
        (Estimate(0.90, 0.88, 0.92), "B"),
        (Estimate(1.30, 1.01, 1.60), None),
        (Estimate(1.30, 1.09, 1.60), None),
        (Estimate(1.30, 1.11, 1.60), "C"),
        (Estimate(0.70, 0.50, 0.87), "C"),
        (Estimate(0.70, 0.60, 0.90), None),
        (Estimate(0.50, 0.49, 0.51), "C"),
    ],
)
def test_a_grade_promises_a_least_difference(ratio: Estimate, best: Grade | None) -> None:
    shown = [grade for grade in "ABCD" if ratio_outcome(ratio, grade, 0).is_shown]  # type: ignore[arg-type]
    assert max(shown, default=None) == best


@pytest.mark.parametrize(
    "ends", [(None, 1, 2), (1.0, None, 2), (1.0, 1.0, None), (0.0, 0.0, 1.0), (1.0, 2.0, 3.0)]
)
def test_what_is_no_interval_is_no_estimate(ends: tuple[float | None, ...]) -> None:
    assert estimate(*ends) is None
    assert estimate(1.0, 0.9, 1.2) == Estimate(1.0, 0.9, 1.2)


def test_intervals_of_ratios_cover_the_true_ratio_as_often_as_they_claim() -> None:
    """Two lognormal estimates with 95 % intervals: their ratio's interval covers in 95 % too."""
    chance = random.Random(16)
    spread = {"fast": 0.02, "slow": 0.10}

    def drawn(truth: float, deviation: float) -> Estimate:
        value = truth * math.exp(chance.gauss(0, deviation))
        width = math.exp(1.959964 * deviation)
        return Estimate(value, value / width, value * width)

    hits = 0
    for _ in range(4000):
        ratio = drawn(3.0, spread["slow"]).over(drawn(2.0, spread["fast"]))
        hits += ratio.low <= 1.5 <= ratio.high
    assert 0.94 <= hits / 4000 <= 0.96
