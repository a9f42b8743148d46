"""Rounds that follow each other within a minute count as fewer independent ones."""

import numpy as np
import pytest

from runner.measure.statistics.replication import round_interval
from runner.measure.statistics.spread import SHARED, STATE_S, effective_rounds

REPETITIONS = 2_000


def correlations(moments: list[float]) -> np.ndarray:
    far = np.abs(np.subtract.outer(moments, moments))
    return SHARED * np.exp(-far / STATE_S) + (1 - SHARED) * np.eye(len(moments))


@pytest.mark.parametrize("count", [2, 3, 12])
def test_far_apart_they_are_independent(count: int) -> None:
    days = effective_rounds(count, [86_400.0 * number for number in range(count)])
    assert (days.count, days.degrees) == pytest.approx((count, count - 1))
    assert effective_rounds(count, None) == days


def test_the_longer_the_time_between_them_the_more_they_count() -> None:
    counts = [effective_rounds(6, list(np.arange(6) * gap)).count for gap in (0, 5, 9, 30, 90)]
    assert counts == sorted(counts)
    assert counts[0] == pytest.approx(6 * (1 - SHARED) / (1 + 5 * SHARED))


@pytest.mark.parametrize(
    "moments", [[0.0, 9, 18], [0.0, 9, 18, 27, 36, 45], [0.0, 5, 120, 125, 300]], ids=str
)
def test_the_interval_holds_the_level_of_a_machine_whose_state_lasts(moments: list[float]) -> None:
    """Drawn from the correlations; Student's for independent ones holds it far less often."""
    random = np.random.default_rng(1)
    factor = np.linalg.cholesky(correlations(moments))
    held = np.zeros(2)
    for _ in range(REPETITIONS):
        medians = 1 + 0.03 * factor @ random.standard_normal(len(moments))
        for place, known in enumerate((moments, None)):
            interval = round_interval(medians.tolist(), 0.95, known)
            assert interval is not None
            held[place] += interval.low <= 1 <= interval.high
    share, naive = held / REPETITIONS
    assert 0.93 <= share <= 0.98
    assert naive < 0.9
