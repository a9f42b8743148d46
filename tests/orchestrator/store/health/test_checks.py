"""The list of checks: names, files, a rule for every number; how far two numbers may differ."""

import math
import re
from collections import Counter
from importlib.resources import files

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.results.source import text
from orchestrator.store.health.checks import CHECKS, ranges, read_sql
from orchestrator.store.schema.tables import OURS, RESULTS

_CONNECTION = duckdb.connect()
_CONNECTION.execute(read_sql("conditions") + read_sql("rounding"))
_ANY_NUMBER = {"seed", "weights_seed"}


def _value(sql: str, *parameters: float) -> float:
    ((value,),) = _CONNECTION.execute(f"SELECT {sql}", parameters).fetchall()
    return float(value)


def test_every_number_has_a_rule() -> None:
    numbers = {each.name for each in RESULTS.columns if each.type in ("BIGINT", "DOUBLE")}
    assert {name for name, _ in ranges()} == numbers - _ANY_NUMBER


def test_checks_have_names_of_their_own_and_say_what_to_do() -> None:
    assert Counter(check.name for check in CHECKS).most_common(1)[0][1] == 1
    assert all(check.remedy for check in CHECKS)


def test_every_statement_belongs_to_a_check() -> None:
    folder = files("orchestrator.store.health").joinpath("sql")
    text = "".join(path.read_text("utf-8") for path in folder.iterdir())
    names = {check.name for check in CHECKS}
    repaired = {check.name for check in CHECKS if check.repair}
    heads = re.findall(r"^-- (check|repair): (.+)$", text, re.MULTILINE)
    assert names >= {name for kind, name in heads if kind == "check"}
    assert repaired >= {name for kind, name in heads if kind == "repair"}


@pytest.mark.parametrize(
    ("value", "half"),
    [(0.00081, 5e-6), (12.0, 0.5), (1234.5, 0.05), (1e-7, 5e-8), (1.25e-9, 5e-12), (1e22, 5e21)],
)
def test_half_of_the_last_digit(value: float, half: float) -> None:
    assert _value("half_digit(?)", value) == pytest.approx(half)


@given(st.floats(1e-9, 1e9), st.integers(0, 6))
@example(67108864.578125, 5)
def test_a_rounded_number_is_within_half_a_digit(value: float, digits: int) -> None:
    rounded = round(value, digits)
    half = _value("half_digit(?)", rounded) * (1 + 1e-9)
    assert abs(rounded - value) <= half + math.ulp(rounded)


def test_ours_agree_to_the_rounding_of_doubles_and_others_to_their_digits() -> None:
    ours = _value(f"rounding(?, ?, {text(OURS)})", 0.3, 0.1 + 0.2)
    assert ours == pytest.approx(3e-10, rel=0.01)
    assert _value("rounding(?, ?, 'timm')", 0.3, 0.31) == pytest.approx(0.055, rel=0.01)
