"""Levels of a series: steps with their sizes and dates, accepted ones, and none in clean series."""

import math

import pytest

from analysis.regress.steps import levels_of
from analysis.statistics.arrays import np
from tests.support.observed import BEGUN, past_results


def runs_of(
    levels: list[tuple[int, float]], launches: int = 5, cv: float = 0.01
) -> list[list[float]]:
    """Runs about levels, each with its number of runs."""
    random = np.random.default_rng(19)
    return [
        [float(level * math.exp(random.normal(0, cv))) for _ in range(launches)]
        for count, level in levels
        for _ in range(count)
    ]


@pytest.mark.parametrize("launches", [1, 5])
def test_a_step_has_its_size_its_date_and_its_first_run(launches: int) -> None:
    history = past_results(runs_of([(12, 10.0), (8, 11.0)], launches))
    levels = levels_of(history, {}, 0.05)
    (step,) = levels.steps
    assert (step.run_id, step.date, step.first.git_commit) == (
        *("run-12", BEGUN.replace(day=13), f"{12:040}"),
    )
    assert step.ratio.low < 1.1 < step.ratio.high
    assert step.ratio.value == pytest.approx(1.1, rel=0.02)
    assert step.accepted is None
    assert [len(level) for level in levels.results] == [12, 8]


@pytest.mark.parametrize(
    "levels",
    [
        [(20, 10.0)],
        # Sure, but smaller than what matters.
        [(10, 10.0), (10, 10.2)],
        # Nine launches are no history to look for steps in.
    ],
)
def test_what_does_not_matter_is_no_step(levels: list[tuple[int, float]]) -> None:
    divided = levels_of(past_results(runs_of(levels)), {}, 0.05)
    assert (divided.steps, len(divided.results)) == ((), 1)


def test_an_accepted_change_begins_a_level_however_small() -> None:
    history = past_results(runs_of([(10, 10.0), (10, 10.2)]))
    (step,) = levels_of(history, {"run-10": "a newer kernel"}, 0.05).steps
    assert (step.run_id, step.accepted) == ("run-10", "a newer kernel")
    assert step.ratio.value == pytest.approx(1.02, rel=0.01)


def test_runs_that_differ_by_more_than_their_launches_are_no_steps() -> None:
    """Each run has a level of its own, 2 % apart, and launches that agree within 0.2 %."""
    random = np.random.default_rng(19)
    runs = [
        [float(math.exp(level + random.normal(0, 0.002))) for _ in range(5)]
        for level in random.normal(0, 0.02, 20)
    ]
    assert levels_of(past_results(runs), {}, 0.05).steps == ()
