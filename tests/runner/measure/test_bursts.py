"""Bursts: how long they are, which of their iterations are cold, and the rest behind them."""

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.job import BURST_ITERATIONS, MOST_BURST_S
from runner.measure.bursts import LONGER_BY, MOST_REST_S, REST_WINDOW_S, BurstTaker, cold_iterations
from runner.measure.clock import NANOSECONDS
from runner.measure.phases import each_of
from tests.support.fakes import FakeClock

MILLISECOND = NANOSECONDS // 1000
BURST_S = 0.2
WARM = [100] * 8


@pytest.mark.parametrize(
    ("bursts", "dropped"),
    [
        ([WARM, WARM], 0),
        ([[102, *WARM], [102, *WARM]], 0),
        ([[103, *WARM], [103, *WARM]], 1),
        ([[150, 110, *WARM]] * 3, 2),
        ([[150, 110, *WARM], WARM, [130, *WARM]], 1),
        ([[150, 110, *WARM], WARM, WARM], 0),
        ([[100, 150, *WARM]] * 3, 0),
        ([[150, 140, 130, 120, 100]] * 3, 2),
        ([[150, 100, 100]] * 3, 1),
        ([[150, 100]] * 3, 1),
        ([[150], [100]], 0),
        ([[150, 100, 100], [150] + 50 * [100]], 1),
        ([[0, 0, 0]], 0),
    ],
    ids=[
        *("warm at once", "within the tolerance", "beyond it", "two", "most bursts alone decide"),
        *(
            "one burst decides nothing",
            "a later one is none",
            "half of a burst at most",
            "of three",
        ),
        *("of two", "a long iteration fills its burst", "of the shortest", "a coarse clock"),
    ],
)
def test_as_many_iterations_are_cold_as_take_longer_in_most_bursts(
    bursts: Sequence[Sequence[int]], dropped: int
) -> None:
    assert cold_iterations(bursts) == dropped


durations = st.lists(st.integers(1, 1000), min_size=1, max_size=12)


@given(st.lists(durations, min_size=1, max_size=8))
def test_each_burst_keeps_half_of_its_iterations_and_a_later_cold_one(
    bursts: list[list[int]],
) -> None:
    dropped = cold_iterations(bursts)
    assert all(dropped <= len(burst) / 2 for burst in bursts)
    for place in range(dropped):
        assert median(burst[place] / median(burst) for burst in bursts) > 1 + LONGER_BY


class Bench:
    """A workload whose iterations take scripted milliseconds, and threads that spin for a while."""

    def __init__(self, *milliseconds: float, spin_s: float = 0.0, entries: int = 0) -> None:
        self.clock = FakeClock()
        self._milliseconds = milliseconds
        self._spin_s, self._entries = spin_s, entries
        self._iterations = 0
        self._worked_until = 0
        self.parts_ns: dict[str, list[int]] = {"tokens": []} if entries else {}
        self.clocks_hz = iter([2e9, None, 1e9] * 10)
        self.taker = BurstTaker(
            each_of(self.iterate),
            self.parts_ns,
            clock_hz=lambda: next(self.clocks_hz),
            own_s=self.own_s,
            clock=self.clock,
            sleep=lambda seconds: self.clock.pass_by(round(seconds * NANOSECONDS)),
        )

    def iterate(self) -> int:
        took = round(self._milliseconds[self._iterations % len(self._milliseconds)] * MILLISECOND)
        for entry in range(self._entries):
            self.parts_ns["tokens"].append(1000 * self._iterations + entry)
        self._iterations += 1
        self.clock.pass_by(took)
        self._worked_until = self.clock.now + round(self._spin_s * NANOSECONDS)
        return took

    def own_s(self) -> float:
        """CPU time: that of the clock, as long as it works or spins."""
        return min(self.clock.now, self._worked_until) / NANOSECONDS


@pytest.mark.parametrize(
    ("milliseconds", "iterations"),
    [
        (10, 20),
        (39, 6),
        (40, BURST_ITERATIONS),
        (100, BURST_ITERATIONS),
        (150, 4),
        (250, 3),
        (700, 1),
    ],
)
def test_a_burst_lasts_its_time_and_some_iterations_and_a_long_one_fills_it(
    milliseconds: int, iterations: int
) -> None:
    bench = Bench(milliseconds)
    for _ in range(2):
        bench.taker.take(BURST_S)
        bench.taker.rest()
    taken = bench.taker.taken()
    assert taken.bursts.iterations == [iterations] * 2
    assert taken.durations_ns == [milliseconds * MILLISECOND] * 2 * iterations
    assert (iterations - 1) * milliseconds < 1000 * MOST_BURST_S


def test_cold_iterations_count_neither_as_durations_nor_by_their_parts() -> None:
    """Iterations with several entries in a part, such as tokens, lose all entries of cold ones."""
    bench = Bench(60, 40, 40, 40, 40, entries=3)
    for _ in range(4):
        bench.taker.take(BURST_S)
        bench.taker.rest()
    taken = bench.taker.taken()
    assert (taken.bursts.iterations, taken.bursts.dropped) == ([4] * 4, 1)
    assert taken.durations_ns == [40 * MILLISECOND] * 16
    kept = [number for number in range(20) if number % 5]
    assert taken.parts_ns == {"tokens": [1000 * n + entry for n in kept for entry in range(3)]}
    assert taken.bursts.clocks_hz == [2e9, None, 1e9, 2e9]


def test_a_part_without_entries_stays_empty() -> None:
    bench = Bench(60, 40, 40, 40, 40)
    bench.parts_ns["none"] = []
    bench.taker.take(BURST_S)
    bench.taker.rest()
    assert bench.taker.taken().parts_ns == {"none": []}


@given(st.lists(st.floats(1, 900), min_size=1, max_size=9), st.integers(1, 5), st.integers(0, 3))
def test_what_is_taken_adds_up(milliseconds: list[float], bursts: int, entries: int) -> None:
    bench = Bench(*milliseconds, entries=entries)
    for _ in range(bursts):
        bench.taker.take(BURST_S)
        bench.taker.rest()
    taken = bench.taker.taken()
    counts = taken.bursts.iterations
    assert len(counts) == bursts == len(taken.bursts.clocks_hz)
    assert min(counts) >= 1
    assert sum(counts) == len(taken.durations_ns)
    assert all(len(part) == entries * sum(counts) for part in taken.parts_ns.values())
    every = [round(one * MILLISECOND) for one in milliseconds]
    whole = [count + taken.bursts.dropped for count in counts]
    expected = [
        every[place % len(every)]
        for begin, end in pairwise([0, *accumulate(whole)])
        for place in range(begin + taken.bursts.dropped, end)
    ]
    assert taken.durations_ns == [*chain(expected)]


@pytest.mark.parametrize(
    ("spin_s", "rest_s"),
    [(0.0, REST_WINDOW_S), (0.02, 0.022), (0.1, 0.102), (60.0, MOST_REST_S)],
    ids=["rests at once", "spins", "spins long", "spins for ever"],
)
def test_the_next_one_begins_once_no_thread_spins_or_patience_ends(
    spin_s: float, rest_s: float
) -> None:
    bench = Bench(10, spin_s=spin_s)
    for _ in range(3):
        bench.taker.take(BURST_S)
        bench.taker.rest()
    assert bench.taker.taken().bursts.rest_s == pytest.approx(rest_s, abs=REST_WINDOW_S + 1e-4)
