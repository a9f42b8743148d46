from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.modes.server.serving import LONGEST_RUN, Judge, Served, Server, arrivals_ns, late_starts
from tests.support.fakes import FakeClock
from tests.support.scene import MILLISECOND

SEEDS = st.integers(0, 2**32)
RATES = st.floats(0.1, 10_000)


def schedule(rate: float, seed: int, count: int = 500) -> list[int]:
    return list(islice(arrivals_ns(rate, seed), count))


@given(RATES, SEEDS)
def test_the_seed_decides_the_schedule(rate: float, seed: int) -> None:
    assert schedule(rate, seed) == schedule(rate, seed)
    assert schedule(rate, seed) != schedule(rate, seed + 1)
    rounds = [list(islice(arrivals_ns(rate, [seed, number]), 20)) for number in (1, 2)]
    assert rounds[0] != rounds[1]


@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_exponential_with_the_rates_mean(seed: int) -> None:
    gaps_s = np.diff(schedule(20, seed, 5000)) / NANOSECONDS
    assert stats.kstest(gaps_s, stats.expon(scale=1 / 20).cdf).pvalue > 0.01
    assert gaps_s.mean() == pytest.approx(1 / 20, rel=0.05)


FOREVER = 10**18
SLACK = 10_000
"""A fake clock moves on by a nanosecond per reading, so sums are that far off."""


def a_server(service_ns: list[int], oversleep_ns: int = 0) -> tuple[Server, FakeClock]:
    clock, left = FakeClock(), iter(service_ns)

    def query() -> int:
        duration = next(left)
        clock.pass_by(duration)
        return duration

    def sleep(seconds: float) -> None:
        clock.pass_by(round(seconds * NANOSECONDS) + oversleep_ns)

    return Server(query, clock, sleep, EnergyMeter(list, clock)), clock


def serve(
    service_ns: list[int],
    due_ns: list[int],
    budget_ns: int = FOREVER,
    judge: Judge | None = None,
    oversleep_ns: int = 0,
) -> Served:
    server, _ = a_server(service_ns, oversleep_ns)
    return server.serve(iter(due_ns), budget_ns, judge or Judge())[0]


def lindley(service_ns: list[int], due_ns: list[int]) -> list[int]:
    """Latencies of a queue with one server (Lindley's recursion)."""
    latencies, free = [], 0
    for due, duration in zip(due_ns, service_ns, strict=True):
        free = max(free, due) + duration
        latencies.append(free - due)
    return latencies


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 50 * MILLISECOND), min_size=1, max_size=60),
    st.floats(5, 200),
    st.integers(0, 1000),
)
def test_latencies_are_those_of_a_queue_from_arrival_to_end(
    service_ns: list[int], rate: float, seed: int
) -> None:
    due = list(islice(arrivals_ns(rate, seed), len(service_ns)))
    served = serve(service_ns, due)
    assert served.latencies_ns == pytest.approx(lindley(service_ns, due), abs=SLACK)
    assert served.service_ns == service_ns
    assert served.window_ns == pytest.approx(due[-1] + served.latencies_ns[-1], abs=SLACK)
    assert (served.waiting, served.answered) == (0, 1.0)


def test_our_own_lateness_counts_and_is_known() -> None:
    due = [number * 100 * MILLISECOND for number in range(5)]
    served = serve([10 * MILLISECOND] * 5, due, oversleep_ns=2 * MILLISECOND)
    assert [round(latency / MILLISECOND) for latency in served.latencies_ns] == [10, 12, 12, 12, 12]
    assert [round(late / MILLISECOND) for late in served.lateness_ns] == [2, 2, 2, 2]
    (doubt,) = late_starts(served)
    assert (doubt.code, doubt.grade, doubt.value) == ("late_starts", "B", pytest.approx(0.2))
    assert late_starts(serve([10 * MILLISECOND] * 5, due, oversleep_ns=MILLISECOND // 10)) == []


@pytest.mark.parametrize(
    ("service_ns", "due_ns", "budget_ns", "answered", "waiting"),
    [
        (20 * MILLISECOND, range(0, 1000 * MILLISECOND, 10 * MILLISECOND), 0.1, 10, 0),
        (40 * MILLISECOND, range(0, 1000 * MILLISECOND, 10 * MILLISECOND), 0.1, 5, 5),
        (MILLISECOND, [0, 60 * NANOSECONDS], 1, 1, 0),
        (MILLISECOND, [0], 0, 1, 0),
    ],
    ids=[
        *("those in line are answered", "a line that grows is not", "no sleep lasts longer"),
        "the first is answered",
    ],
)
def test_those_in_line_when_the_budget_is_spent_are_answered_for_as_long_again(
    service_ns: int, due_ns: Sequence[int], budget_ns: float, answered: int, waiting: int
) -> None:
    budget = round(budget_ns * NANOSECONDS)
    served = serve([service_ns] * len(due_ns), list(due_ns), budget)
    assert (len(served.latencies_ns), served.waiting) == (answered, waiting)
    assert served.window_ns < LONGEST_RUN * budget + service_ns + SLACK
