"""Stages of starts become columns, whose intervals hold for fresh processes."""

from collections.abc import Sequence

import pytest

from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.modes.startup.mode import STARTUP_STAGES, startup_columns
from tests.support.jobs import a_job
from tests.support.records import a_round

SECOND = 10**9


def starts(warm: Sequence[float], cold: Sequence[float] = ()) -> RoundResult:
    """A round whose starts take so many seconds in each stage."""
    parts = {stage: [round(value * SECOND) for value in warm] for stage in STARTUP_STAGES}
    if cold:
        dropped = [round(value * SECOND) for value in cold]
        parts |= {f"cold_{stage}": dropped for stage in STARTUP_STAGES}
    return a_round([len(STARTUP_STAGES) * value for value in parts["import"]], parts_ns=parts)


def columns_of(*rounds: RoundResult) -> Columns:
    return startup_columns(a_job(), rounds)


def interval(columns: Columns, name: str) -> list[float | None]:
    """The ends of an interval around its median."""
    return [columns[f"startup_{name}_median_{end}s"] for end in ("low_", "", "high_")]


def around(median: float, share: float) -> object:
    """That median, with an interval of so large a share on each side."""
    return pytest.approx([(1 - share) * median, median, (1 + share) * median], rel=1e-3)


KNOWN = 1.96 * 0.053
"""What processes of an unknown host differ by."""
OVER_THREE = 4.3027 * 0.02 / 3**0.5
THREE_APART = 4.3027 * 0.1 / 1.2
"""Of 1, 1.3 and 1.3, whose mean is 1.2 and whose standard error is 0.1."""


@pytest.mark.parametrize(
    ("rounds", "warm", "cold"),
    [
        ([([1] * 20, [5] * 6)], KNOWN, KNOWN),
        ([([0.98], [4.9]), ([1], [5]), ([1.02], [5.1])], OVER_THREE, OVER_THREE),
        ([([0.98], [5] * 6), ([1], []), ([1.02], [])], OVER_THREE, KNOWN),
        ([([1] * 9, [5] * 9), ([1.3], [6.5]), ([1.3], [6.5])], THREE_APART, THREE_APART),
    ],
    ids=["one", "several", "several, with cold ones in the first", "of all starts"],
)
def test_intervals_allow_for_what_other_processes_would_measure(
    rounds: list[tuple[list[float], list[float]]], warm: float, cold: float
) -> None:
    columns = columns_of(*(starts(*durations) for durations in rounds))
    assert interval(columns, "warm_import") == around(1, warm)
    assert interval(columns, "cold_weights") == around(5, cold)
    assert interval(columns, "cold") == around(25, cold)
