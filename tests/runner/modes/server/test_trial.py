"""MLPerf's count decides about a rate, over as many queries as are worth one each."""

import numpy as np
import pytest

from runner.measure.clock import NANOSECONDS
from runner.modes.server.queue_model import QueueModel, accepted_from, rejected_up_to
from runner.modes.server.trial import accepts, rejects, verdict


@pytest.mark.parametrize(("late", "count"), [(0, 459), (1, 662), (2, 838)])
def test_a_rate_is_accepted_from_mlperfs_counts_on(late: int, count: int) -> None:
    assert accepted_from(late) == count
    assert verdict(count, late, 1.0) is True
    assert verdict(count - 1, late, 1.0) is None
    assert verdict(10 * count, 10 * late, 10.0) is True


@pytest.mark.parametrize("late", [1, 5, 20])
def test_a_rate_is_rejected_up_to_the_count_at_which_chance_explains_it(late: int) -> None:
    most = rejected_up_to(late)
    assert rejects(most, late)
    assert not rejects(most + 1, late)


def test_between_the_two_it_goes_on() -> None:
    assert verdict(662, 7, 1.0) is None
    assert verdict(662, 40, 1.0) is False
    assert verdict(662, 40, 20.0) is None
    assert not accepts(0, 0)
    assert accepts(662, 0.5)


def test_the_model_knows_what_a_queue_does() -> None:
    model = QueueModel([10_000_000] * 20, [0, 0])
    forecasts = [model.forecast(rate, 50e6) for rate in (30.0, 50.0, 70.0, 90.0)]
    late = [forecast.late for forecast in forecasts]
    assert late == sorted(late)
    assert late[2] == pytest.approx(0.06, rel=0.2)
    weights = [forecast.weight for forecast in forecasts]
    assert weights == sorted(weights)
    assert forecasts[0].accept_s < 60 < forecasts[0].reject_s == np.inf
    assert forecasts[3].reject_s < 60 < forecasts[3].accept_s == np.inf
    assert model.mean_ns == 0.01 * NANOSECONDS
