"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.numbers import (
    amount,
    change_words,
    extent_words,
    format_number,
    number_range,
    signed_percent,
)
from analysis.statistics.ratios import Estimate


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
