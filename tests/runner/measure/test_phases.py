import gc
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import cycle, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.errors import TimedOut
from runner.contract.job import Measure
from runner.measure.clock import NANOSECONDS, Sampler
from runner.measure.phases import (
    OVERHEAD_ITERATIONS,
    Quota,
    WarmUp,
    garbage_collection_off,
    harness_overhead_s,
    quota_of,
    run_steady_phase,
    warm_up,
)
from tests.support.fakes import FakeClock


def test_overhead_is_the_median_of_what_timing_an_empty_query_takes() -> None:
    clock, calls = FakeClock(), []

    def query() -> None:
        calls.append(1)
        clock.pass_by(1_000_000 if len(calls) % 3 == 0 else 200)

    assert harness_overhead_s(query, clock) == 201 / NANOSECONDS
    assert len(calls) == OVERHEAD_ITERATIONS


SECOND = 10**9
MEASURE = Measure(
    profile="quick",
    warmup_iterations=3,
    warmup_max_s=30,
    iterations=5,
    min_s=3,
    max_s=20,
    precision_target=0.05,
)
QUOTA = Quota(iterations=5, min_ns=3 * SECOND, max_ns=20 * SECOND, precision_target=None)


class Work:
    """Iterations whose durations, in seconds, are scripted; each lets the clock go on."""

    def __init__(self, seconds: Iterable[float], clock: FakeClock | None = None) -> None:
        self._seconds: Iterator[float] = iter(seconds)
        self._clock = clock or FakeClock()

    def __call__(self) -> int:
        duration = round(next(self._seconds) * SECOND)
        self._clock.pass_by(duration)
        return duration


def warmed_up(seconds: Iterable[float], enough: int | None = None, **changes: object) -> WarmUp:
    clock = FakeClock()
    return warm_up(Work(seconds, clock), clock, MEASURE.model_copy(update=changes), enough)


def worked(quota: Quota, seconds: Iterable[float]) -> list[int]:
    return run_steady_phase(Work(seconds), quota)


FALLING = [5, 4, 3, 2.1, *[2] * 50]
NEVER = [5 * 0.9**step for step in range(1000)]
STEPS = [1.0] * 3 + [1.03] * 33


@pytest.mark.parametrize(
    ("seconds", "changes", "count"),
    [
        (FALLING, {}, 12),
        ([1] * 50, {}, 9),
        ([1, 1, 1, 9, *[1] * 50], {}, 9),
        (STEPS, {"precision_target": 0.05}, 9),
        (STEPS, {"precision_target": 0.02}, 12),
        ([1.0] * 3 + [1.2] * 33, {"precision_target": 0.5}, 12),
        ([1] * 50, {"warmup_iterations": 12}, 12),
    ],
    ids=["falls", "steady", "one slow", "wide target", "narrow target", "widest", "floor"],
)
def test_warm_up_ends_when_three_windows_agree(
    seconds: list[float], changes: dict[str, float], count: int
) -> None:
    warmup = warmed_up(seconds, **changes)
    assert (warmup.settled, len(warmup.durations_ns)) == (True, count)


@pytest.mark.parametrize(
    ("rounds", "count"),
    [
        ([[1] * 50] * 2, 3),
        ([FALLING] * 2, 6),
        ([FALLING, [5, 4, 3, 5, 4, 3, *[1] * 50]], 6),
        ([[5] * 3 + [4] * 3 + [3] * 3 + [1] * 50, [1] * 50], 9),
        ([[5] * 3 + [4] * 3 + [3] * 3 + [1] * 50, [1] * 50, FALLING], 3),
        ([[1] * 50] * 9, 3),
        ([NEVER, FALLING], 12),
        ([NEVER, FALLING, FALLING], 6),
    ],
    ids=["at once", "as late", "later", "earlier", "least", "many", "never", "not at first"],
)
def test_a_later_round_warms_up_no_longer_than_any_took_to_reach_its_level(
    rounds: list[list[float]], count: int
) -> None:
    warmup = WarmUp([], settled=False, enough_windows=None)
    for seconds in rounds:
        warmup = warmed_up(seconds, warmup.enough_windows)
    assert (warmup.settled, len(warmup.durations_ns)) == (True, count)


def test_a_slow_change_of_a_fast_query_is_seen() -> None:
    ramp = (0.01 * (1 + 4 * 0.5 ** (step / 100)) for step in range(10_000))
    warmup = warmed_up(ramp)
    assert warmup.settled
    assert warmup.durations_ns[-1] < 0.011 * SECOND


def test_warm_up_that_never_settles_ends_at_its_cap_but_not_below_its_floor() -> None:
    warmup = warmed_up(NEVER)
    assert not warmup.settled
    assert 30 * SECOND <= sum(warmup.durations_ns) < 35 * SECOND
    slow = warmed_up(repeat(60))
    assert (slow.settled, len(slow.durations_ns)) == (False, 3)


def test_rounds_take_equal_shares_and_the_only_one_has_a_target() -> None:
    measure = MEASURE.model_copy(update={"rounds": 3, "iterations": 20})
    share = Quota(7, SECOND, 20 * SECOND // 3, None)
    assert quota_of(measure) == quota_of(measure, 13 * SECOND) == share
    assert quota_of(MEASURE) == Quota(5, 3 * SECOND, 20 * SECOND, 0.05)
    grows = MEASURE.model_copy(update={"max_rounds": 4})
    assert quota_of(grows).precision_target is None


@pytest.mark.parametrize(
    ("seconds", "count"),
    [([0.1], 30), ([2], 5), ([15], 2), ([100], 1), ([0.1, 0.9], 6)],
    ids=["time", "count", "budget", "beyond the budget", "noise without a target"],
)
def test_steady_takes_count_and_time_within_its_budget(seconds: list[float], count: int) -> None:
    assert len(worked(QUOTA, cycle(seconds))) == count


def aiming(target: float, **changes: object) -> Quota:
    values = {"iterations": 6, "min_ns": 0, "max_ns": 10**15}
    return Quota(**(values | changes), precision_target=target)  # type: ignore[arg-type]


NOISE = np.random.default_rng(0).lognormal(0, 0.2, 2000).tolist()


def test_a_target_out_of_reach_ends_with_the_budget() -> None:
    durations = worked(aiming(1e-9, max_ns=100 * SECOND), NOISE)
    assert 100 * SECOND <= sum(durations) < 102 * SECOND


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.5, 30), min_size=1, max_size=50), st.integers(1, 30), st.floats(0.001, 0.2)
)
def test_steady_always_returns_what_it_timed(
    seconds: list[float], iterations: int, target: float
) -> None:
    quota = aiming(target, iterations=iterations, max_ns=8 * SECOND)
    durations = worked(quota, cycle(seconds))
    expected = [round(value * SECOND) for value in seconds]
    assert durations == [expected[i % len(expected)] for i in range(len(durations))]
    assert sum(durations[:-1]) < quota.max_ns
    assert len(durations) >= iterations or sum(durations) >= quota.max_ns


def test_what_ended_before_a_silence_is_told_by_its_error() -> None:
    answers = iter([[SECOND] * 3, TimedOut("silent", ended_ns=[SECOND])])

    def series(least: int, min_ns: int, max_ns: int) -> list[int]:
        answer = next(answers)
        if isinstance(answer, TimedOut):
            raise answer
        return answer

    endless = replace(QUOTA, max_ns=100 * SECOND, precision_target=1e-9)
    with pytest.raises(TimedOut) as silence:
        run_steady_phase(lambda: SECOND, endless, series=series)
    assert silence.value.ended_ns == [SECOND] * 4
    assert gc.isenabled()


def test_garbage_is_not_collected_while_timing() -> None:
    seen: list[bool] = []

    def timed() -> int:
        seen.append(gc.isenabled())
        return SECOND

    run_steady_phase(timed, QUOTA)
    assert seen == [False] * 5
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        run_steady_phase(lambda: 1 // 0, QUOTA)
    assert gc.isenabled()
    gc.disable()
    try:
        with garbage_collection_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_there_is_always_a_sample_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with Sampler(lambda: 7, interval_s=3600) as sampler:
        assert threading.active_count() == before + 1
    assert sampler.samples == [7]
    assert threading.active_count() == before
