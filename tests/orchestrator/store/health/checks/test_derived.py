"""How far two numbers may differ."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.health.checks import FUNCTIONS
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.origin import OURS

CONNECTION = duckdb.connect()
for function in FUNCTIONS:
    CONNECTION.execute(function)


def half_digit(value: float) -> float:
    ((found,),) = CONNECTION.execute("SELECT half_digit(?)", [value]).fetchall()
    return float(found)


def rounding(first: float, second: float, source: str) -> float:
    sql = f"SELECT rounding(?, ?, {text(source)})"
    ((found,),) = CONNECTION.execute(sql, [first, second]).fetchall()
    return float(found)


@pytest.mark.parametrize(
    ("value", "half"),
    [(0.00081, 5e-6), (12.0, 0.5), (1234.5, 0.05), (1e-7, 5e-8), (1.25e-9, 5e-12), (1e22, 5e21)],
)
def test_half_of_the_last_digit(value: float, half: float) -> None:
    assert half_digit(value) == pytest.approx(half)


@given(st.floats(1e-9, 1e9), st.integers(0, 6))
def test_a_rounded_number_is_within_half_a_digit(value: float, digits: int) -> None:
    rounded = round(value, digits)
    assert abs(rounded - value) <= half_digit(rounded) * (1 + 1e-9)


def test_ours_agree_to_the_rounding_of_doubles_and_others_to_their_digits() -> None:
    assert rounding(0.3, 0.1 + 0.2, OURS) == pytest.approx(3e-10, rel=0.01)
    assert rounding(0.3, 0.31, "timm") == pytest.approx(0.055, rel=0.01)
