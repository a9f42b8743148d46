"""Values are canonical: what means the same is equal, and what differs differs in ids."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from orchestrator.matrix.values import (
    FASTEST,
    FIND_PEAK,
    SLOWEST,
    CountValue,
    Listed,
    RateValue,
    ShareValue,
    SloValue,
)
from runner.contract.cell import Cell

RATE: TypeAdapter[float | str] = TypeAdapter(RateValue)
RATES: TypeAdapter[tuple[float | str, ...]] = TypeAdapter(Listed[RateValue])
SLO: TypeAdapter[float] = TypeAdapter(SloValue)
SHARE: TypeAdapter[float] = TypeAdapter(ShareValue)
COUNT: TypeAdapter[int] = TypeAdapter(CountValue)
QUANTITIES = st.integers(1, 999_999).flatmap(
    lambda digits: st.integers(-3, 5).map(lambda power: float(f"{digits}e{power - 5}"))
)


def served(rate: float) -> Cell:
    return Cell(
        model="m",
        backend="cpu",
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=None,
        mode="inference",
        scenario="server",
        target_qps=rate,
    )


@pytest.mark.parametrize("value", [1, 50, 0.001, 0.5, 99_999.9, 100_000])
def test_rates_and_limits_are_floats(value: float) -> None:
    assert RATE.validate_python(value) == SLO.validate_python(value) == value
    assert type(RATE.validate_python(value)) is float


def test_a_rate_may_be_sought() -> None:
    assert RATE.validate_python("find_peak") == FIND_PEAK
    assert RATES.validate_python([5, "find_peak"]) == (5.0, FIND_PEAK)


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize("adapter", [RATE, SLO])
@pytest.mark.parametrize(
    "value", [0, -1, 0.0009, 100_000.1, 10**400, NAN, INFINITE, 1.0000001, True, None, "50", []]
)
def test_what_is_no_rate_is_refused(adapter: TypeAdapter[object], value: object) -> None:
    with pytest.raises(ValidationError, match=r"is not a number|is not between|more than six"):
        adapter.validate_python(value)


@given(QUANTITIES, QUANTITIES)
def test_rates_that_differ_have_ids_that_differ(one: float, other: float) -> None:
    assume(one != other)
    assume(min(one, other) >= SLOWEST and max(one, other) <= FASTEST)
    cells = [served(float(RATE.validate_python(rate))) for rate in (one, other)]
    assert cells[0].id != cells[1].id
    assert all("-q" in cell.id and "e" not in cell.pattern.split("-q")[1] for cell in cells)


def test_shares_and_counts_are_bounded() -> None:
    assert SHARE.validate_python("5%") == SHARE.validate_python(0.05) == 0.05
    assert COUNT.validate_python(1000) == 1000
    for value in (0, 1001):
        with pytest.raises(ValidationError):
            COUNT.validate_python(value)
