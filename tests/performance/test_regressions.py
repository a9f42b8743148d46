"""Simulated regressions: rounds side by side end as real ones do, and are judged as they are."""

import math

import numpy as np
import pytest

from orchestrator.planning.groups import LOOKS
from performance.regressions.families import Family, simulated_case, watched_verdicts
from performance.regressions.noise import replicate_noise

THRESHOLD = 0.03


@pytest.mark.parametrize(
    ("spread", "step", "rounds"),
    [
        (0.001, 1.0, LOOKS[0]),
        (0.001, 1.1, LOOKS[0]),
        (0.03, 1.0, LOOKS[1]),
        (0.2, 1.0, LOOKS[-1]),  # which tell too little
    ],
)
def test_a_comparison_ends_at_the_first_planned_look_that_decides_it(
    spread: float, step: float, rounds: int
) -> None:
    alternating = spread * np.array([1, -1] * (LOOKS[-1] // 2))
    slow_hour = np.linspace(0, 1, LOOKS[-1])  # both sides share it
    values = np.array([slow_hour, slow_hour + alternating + math.log(step)])
    case = simulated_case(values, THRESHOLD, side_by_side=True)
    assert case.pair is not None
    assert len(case.pair.logarithms) == len(case.before.launches) == rounds
    assert case.pair.looks == LOOKS
    assert math.exp(np.mean(case.pair.logarithms)) == pytest.approx(step)


@pytest.mark.parametrize(("step", "verdict"), [(1.0, "no change"), (1.1, "regression")])
def test_cells_that_changed_are_watched_or_all_of_them(step: float, verdict: str) -> None:
    noise, random = replicate_noise(), np.random.default_rng(49)
    family = Family(40, 0.005, step, LOOKS[-1], side_by_side=True, threshold=THRESHOLD)
    verdicts = watched_verdicts(family, noise, random)
    assert len(verdicts) == (2 if step > 1 else 40)
    assert {*verdicts} == {verdict}
