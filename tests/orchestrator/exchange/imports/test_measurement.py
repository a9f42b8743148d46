"""What no column takes is kept as text under its own name."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.exchange.imports.measurement import (
    UNITS,
    dimension_of,
    flatten,
    is_null,
    quantity,
)


def test_tables_become_dotted_names_and_plain_lists_stay_whole() -> None:
    value = {
        "backend": {"name": "pytorch", "no_weights": False, "seed": 42},
        "gpu": ["NVIDIA A100", "NVIDIA A100"],
        "runs": [{"ms": 1.5}, {"ms": 2}],
    }
    assert flatten(value, "config") == {
        "config.backend.name": "pytorch",
        "config.backend.no_weights": "false",
        "config.backend.seed": "42",
        "config.gpu": '["NVIDIA A100", "NVIDIA A100"]',
        "config.runs[0].ms": "1.5",
        "config.runs[1].ms": "2",
    }


def test_what_says_nothing_is_left_out() -> None:
    assert flatten({"a": None, "b": {}, "c": [], "d": "", "e": float("nan")}) == {}


@pytest.mark.parametrize(
    ("value", "unit", "dimension", "base"),
    [
        (20.77, "ms", "seconds", 0.02077),
        ("20.77", "ms", "seconds", 0.02077),
        (" 3 ", "min", "seconds", 180),
        (0.1, "us", "seconds", 1e-7),
        (5534.732288, "MB", "bytes", 5534732288),
        (1.5, "GiB", "bytes", 1610612736),
        (0.3, "kB", "bytes", 300),
        (1e-6, "kWh", "joules", 3.6),
        (30, "1/min", "per second", 0.5),
        (2.04, "million", "count", 2040000),
        ("1024.0", None, "count", 1024),
        (0.032427230834960935, "s", "nanoseconds", 32427231),
        ("1e3", None, "count", 1000),
        (-0.0, "s", "seconds", 0),
    ],
)
def test_converts_without_rounding_on_the_way(
    value: object, unit: str | None, dimension: str, base: float
) -> None:
    converted = quantity(value, unit, dimension)
    assert converted == base
    assert isinstance(converted, int) == float(base).is_integer()


@pytest.mark.parametrize("value", [None, "", "  ", "NaN", "null", "None", "n/a", "-", math.nan])
def test_fillers_say_nothing(value: object) -> None:
    assert is_null(value)
    assert quantity(value, "ms", "seconds") is None


@pytest.mark.parametrize(
    "value", ["fast", True, [], {}, math.inf, "inf", "1_000", "1,5", "0x10", "12 ms", "1e999"]
)
def test_refuses_what_is_no_number(value: object) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        quantity(value, "ms", "seconds")


def test_refuses_negative_and_giant_numbers_and_foreign_units() -> None:
    with pytest.raises(ValueError, match=r"^-1 is negative$"):
        quantity(-1, "ms", "seconds")
    for value, unit, dimension in ((10**400, None, "count"), ("1e300", "ms", "seconds")):
        with pytest.raises(ValueError, match="is not a number that can be kept"):
            quantity(value, unit, dimension)
    with pytest.raises(ValueError, match="its unit 'parsec' is not one of s, ms, us, ns, min, h"):
        quantity(1, "parsec", "seconds")


def test_a_column_s_name_ends_in_its_dimension() -> None:
    columns = ["load_time_s", "durations_ns", "memory_peak_bytes", "energy_joules", "throughput"]
    told = [dimension_of(column) for column in (*columns, "decode_throughput", "batch_size")]
    expected = ["seconds", "nanoseconds", "bytes", "joules", "per second", "per second", "count"]
    assert told == expected


@given(st.floats(0, 1e5), st.sampled_from(sorted(UNITS["seconds"])))
def test_a_number_and_its_text_are_the_same(value: float, unit: str) -> None:
    assert quantity(value, unit, "seconds") == quantity(repr(value), unit, "seconds")


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.none())),
    st.sampled_from(sorted(UNITS)),
)
def test_whatever_stands_there_is_a_finite_number_nothing_or_refused(
    value: object, dimension: str
) -> None:
    for unit in UNITS[dimension]:
        try:
            converted = quantity(value, unit, dimension)
        except ValueError:
            continue
        assert converted is None or 0 <= converted < math.inf
