"""The model of a queue against M/D/1's closed form: arrivals at random, constant service times."""

import math

import pytest

from runner.measure.clock import NANOSECONDS
from runner.modes.server.rates import QueueModel

SERVICE_NS = 10_000_000


def share_within(load: float, latency: float) -> float:
    """The share of latencies up to this one, by service times (Erlang 1909)."""
    waits = [load * (place - latency + 1) for place in range(int(latency))]
    terms = (
        wait**place / math.factorial(place) * math.exp(-wait) for place, wait in enumerate(waits)
    )
    return (1 - load) * sum(terms)


def a_model() -> QueueModel:
    return QueueModel([SERVICE_NS] * 20, [0])


@pytest.mark.parametrize("objective", [2, 3, 5, 10])
@pytest.mark.parametrize("stretch", [1.0, 1.104])
def test_one_latency_in_a_hundred_is_late_at_the_rate_that_a_queue_sustains(
    objective: float, stretch: float
) -> None:
    rate = a_model().sustained(objective * SERVICE_NS, stretch)
    load = rate * stretch * SERVICE_NS / NANOSECONDS
    assert share_within(load, objective / stretch) == pytest.approx(0.99, abs=0.0015)


@pytest.mark.parametrize(
    ("load", "growths"),
    [(0.2, (0.104, 0.148, 0.150)), (0.3, (0.104, 0.139, 0.175)), (0.7, (0.299, 0.436, 0.468))],
)
def test_latencies_grow_more_than_services(load: float, growths: tuple[float, ...]) -> None:
    rate = load * NANOSECONDS / SERVICE_NS
    found = a_model().slowdowns(rate, 0.1039, (0.5, 0.9, 0.99))
    assert found == pytest.approx(growths, rel=0.12)
