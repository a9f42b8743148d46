"""Student's t."""

import pytest
from scipy import stats

from runner.contract.confidence import students_t


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 29, 200])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.968, 0.99])
def test_students_t_is_scipys(degrees: int, confidence: float) -> None:
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert students_t(degrees, confidence) == pytest.approx(expected, rel=1e-5)
