"""MLPerf's count decides about a rate, over as many queries as are worth one each."""

from collections.abc import Iterator

import pytest

from runner.contract.rounds import Energy
from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.modes.server.rates import RateTrials, accepted_from, rejected_up_to, rejects, verdict
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
