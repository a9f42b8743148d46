"""MLPerf's count decides about a rate, over as many queries as are worth one each."""

import math
from collections.abc import Iterator

import pytest

from runner.contract.rounds import Energy
from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.modes.server.rates import (
    QueueModel,
    RateTrials,
    accepted_from,
    rejected_up_to,
    rejects,
    verdict,
)
from runner.modes.server.serving import Server
from tests.support.fakes import FakeClock
from tests.support.scene import MILLISECOND


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


def server_of(late_shares: Iterator[float]) -> Server:
    """A server whose queries are late in these shares, one after the other."""
    clock, debt = FakeClock(), 0.0

    def query() -> int:
        nonlocal debt
        debt += next(late_shares)
        late, debt = debt >= 1, debt % 1
        duration = (20 if late else 1) * MILLISECOND
        clock.pass_by(duration)
        return duration

    return Server(
        query, clock, lambda s: clock.pass_by(round(s * NANOSECONDS)), EnergyMeter(list, clock)
    )


@pytest.mark.parametrize(
    ("share", "queries", "verified", "accepted"),
    [(0.0, 700, True, True), (0.05, 700, False, False), (0.01, 300, None, True)],
)
def test_fresh_schedules_are_not_outvoted_by_those_that_chose_the_rate(
    share: float, queries: int, verified: bool | None, accepted: bool
) -> None:
    trials = RateTrials(rate=1.0, slo_ms=10.0, seed=[0, 0], weight=1.0)
    server = server_of(iter([0.0] * 9000 + [share] * queries))
    trials.serve(server, 9000, deadline=10**14)
    assert (trials.verdict, trials.verified) == (True, None)
    trials.verify(server, queries, deadline=10**14)
    assert verdict(trials.queries, trials.late, 1.0) is True
    assert (trials.verified, trials.verdict) == (verified, accepted)
    assert trials.queries <= 9000 + queries


@pytest.mark.parametrize(
    ("joules", "expected"),
    [
        ([4.0, 6.0], (10.0, 2.0, "NVML", "board", 3.0)),
        ([None, 6.0], (None, None, "short", "board", None)),
    ],
)
def test_energy_is_that_of_all_schedules_or_of_none(
    joules: list[float | None], expected: tuple[object, ...]
) -> None:
    trials = RateTrials(rate=1.0, slo_ms=10.0, seed=[0, 0], weight=1.0)
    trials.energies += [
        Energy(
            joules=value,
            window_s=1.0,
            method="NVML" if value else "short",
            scope="board",
            host_joules=1.5,
        )
        for value in joules
    ]
    total = trials.energy
    found = (total.joules, total.window_s, total.method, total.scope, total.host_joules)
    assert found == expected


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
