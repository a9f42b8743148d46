import gc

from runner.cell import Measure
from runner.measure.phases import has_settled, steady, time_once, warm_up
from tests.fakes import FakeClock

SECOND = 10**9
MEASURE = Measure(
    profile="quick", warmup_iterations=3, warmup_max_s=10, iterations=5, min_s=3, max_s=20
)


class Work:
    """A query whose durations are scripted; the last one repeats."""

    def __init__(self, clock: FakeClock, *seconds: float) -> None:
        self.clock, self.seconds, self.calls = clock, list(seconds), 0

    def __call__(self) -> None:
        self.clock.pass_by(round(self.seconds[min(self.calls, len(self.seconds) - 1)] * SECOND))
        self.calls += 1


def test_a_duration_is_what_passed_between_two_readings() -> None:
    clock = FakeClock()
    assert time_once(Work(clock, 2), clock) == 2 * SECOND + 1


def test_warm_up_ends_when_two_windows_agree() -> None:
    clock = FakeClock()
    warmup = warm_up(Work(clock, 0.9, 0.5, 0.2, 0.1), clock, MEASURE)
    assert warmup.settled
    assert len(warmup.durations_ns) == 8


def test_warm_up_that_never_settles_ends_at_its_cap_and_says_so() -> None:
    clock = FakeClock()
    shrinking = Work(clock, *(5 * 0.7**i for i in range(50)))
    warmup = warm_up(shrinking, clock, MEASURE.model_copy(update={"warmup_max_s": 12}))
    assert not warmup.settled
    assert sum(warmup.durations_ns) >= 12 * SECOND


def test_warm_up_keeps_its_floor_even_past_the_cap() -> None:
    clock = FakeClock()
    assert len(warm_up(Work(clock, 60), clock, MEASURE).durations_ns) == 3


def test_settling_needs_two_whole_windows() -> None:
    assert not has_settled([1, 1, 1, 1, 1])
    assert has_settled([9, 1, 1, 1, 1, 1, 1])
    assert not has_settled([2, 2, 2, 1, 1, 1])


def test_steady_takes_count_and_time_whichever_comes_last() -> None:
    clock = FakeClock()
    assert len(steady(Work(clock, 0.1), clock, MEASURE, lambda: None)) == 30
    assert len(steady(Work(clock, 2), clock, MEASURE, lambda: None)) == 5


def test_steady_stops_at_its_budget_with_data() -> None:
    clock = FakeClock()
    assert len(steady(Work(clock, 15), clock, MEASURE, lambda: None)) == 2
    assert len(steady(Work(clock, 100), clock, MEASURE, lambda: None)) == 1


def test_what_runs_between_iterations_is_not_timed() -> None:
    clock = FakeClock()
    durations = steady(Work(clock, 1), clock, MEASURE, lambda: clock.pass_by(50 * SECOND))
    assert durations == [SECOND + 1] * 5


def test_garbage_is_not_collected_while_timing() -> None:
    clock, seen = FakeClock(), []
    steady(Work(clock, 1), clock, MEASURE, lambda: seen.append(gc.isenabled()))
    assert seen == [False] * 5
    assert gc.isenabled()
