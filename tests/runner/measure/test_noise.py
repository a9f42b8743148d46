import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.measure.noise import KERNEL_REPEATS, NoiseMeter, arithmetic, noise_meter, parse_times
from tests.support.fakes import FakeClock

SECOND = os.sysconf("SC_CLK_TCK")


class Host:
    """A /proc/stat, a clock, our own CPU time and a kernel, all scripted."""

    def __init__(self, folder: Path, durations: Iterator[int]) -> None:
        self._clock = FakeClock()
        self._durations = durations
        self.path = folder / "stat"
        self.own_s = 0.0
        self.meter = NoiseMeter(self.path, self._clock, self._kernel, lambda: self.own_s)

    def spend(self, *, user: float, idle: float, steal: float = 0.0, irq: float = 0.0) -> None:
        """CPU seconds of the whole host since it started."""
        fields = (user, 0, 0, idle, 0, irq, 0, steal, 99, 99)
        ticks = " ".join(str(round(field * SECOND)) for field in fields)
        self.path.write_text(f"cpu  {ticks}\ncpu0 {ticks}\nctxt 1\n")

    def _kernel(self) -> None:
        self._clock.pass_by(next(self._durations) - 1)


def steady(duration: int) -> Iterator[int]:
    while True:
        yield duration


def after_warming(*runs: Callable[[int], int]) -> Iterator[int]:
    """One run that is thrown away, then as many as are timed by each rule."""
    yield 1
    for rule in runs:
        yield from map(rule, range(KERNEL_REPEATS))


def test_a_silent_host_scores_zero(tmp_path: Path) -> None:
    host = Host(tmp_path, steady(1000))
    host.spend(user=10, idle=100)
    host.meter.before()
    host.spend(user=20, idle=110)
    host.own_s = 10.0
    noise = host.meter.after()
    assert (noise.steal, noise.other_load, noise.kernel_shift) == (0, 0, 0)
    assert noise.score == 0


def test_other_load_is_busy_time_without_ours_and_without_steal(tmp_path: Path) -> None:
    host = Host(tmp_path, steady(1000))
    host.spend(user=0, idle=0)
    host.meter.before()
    host.spend(user=5, irq=1, idle=12, steal=2)
    host.own_s = 4.0
    noise = host.meter.after()
    assert noise.steal == pytest.approx(2 / 20)
    assert noise.other_load == pytest.approx((5 + 1 - 4) / 20)


def test_own_time_that_runs_ahead_of_the_kernels_ticks_is_no_negative_load(tmp_path: Path) -> None:
    host = Host(tmp_path, steady(1000))
    host.spend(user=0, idle=0)
    host.meter.before()
    host.spend(user=1, idle=9)
    host.own_s = 1.02
    assert host.meter.after().other_load == 0


def test_without_proc_stat_the_shares_are_unknown(tmp_path: Path) -> None:
    host = Host(tmp_path, steady(1000))
    host.meter.before()
    noise = host.meter.after()
    assert (noise.steal, noise.other_load) == (None, None)


def test_a_line_with_too_few_fields_gives_no_shares(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_text("cpu 1 2 3 4\n")
    meter = NoiseMeter(path, FakeClock(), kernel=lambda: None)
    meter.before()
    noise = meter.after()
    assert (noise.steal, noise.other_load) == (None, None)


def test_within_one_tick_the_shares_are_unknown(tmp_path: Path) -> None:
    host = Host(tmp_path, steady(1000))
    host.spend(user=1, idle=1)
    host.meter.before()
    assert host.meter.after().other_load is None


def test_spread_is_from_the_fastest_to_the_ninetieth_percentile(tmp_path: Path) -> None:
    def rising(number: int) -> int:
        return 1000 + 100 * number

    host = Host(tmp_path, after_warming(rising, lambda _: 2000))
    host.meter.before()
    noise = host.meter.after()
    assert noise.kernel_spread_before == pytest.approx(0.9 * 19 * 100 / 1000)
    assert noise.kernel_spread_after == 0


def test_one_slow_run_is_no_spread(tmp_path: Path) -> None:
    host = Host(tmp_path, after_warming(lambda n: 9000 if n == 3 else 1000, lambda _: 1000))
    host.meter.before()
    assert host.meter.after().kernel_spread_before == 0


def test_shift_compares_the_medians(tmp_path: Path) -> None:
    host = Host(tmp_path, after_warming(lambda _: 1000, lambda _: 1250))
    host.meter.before()
    assert host.meter.after().kernel_shift == pytest.approx(0.25)


def test_guests_are_not_counted_twice() -> None:
    times = parse_times(f"cpu  {' '.join([str(SECOND)] * 10)}", own_s=0.5)
    assert (times.total, times.busy, times.steal, times.own) == (8, 5, 1, 0.5)


def test_the_kernel_always_does_the_same() -> None:
    assert arithmetic(1) == (1103515245 + 12345) & 0x7FFFFFFF
    assert arithmetic(7) == arithmetic(7) != arithmetic(8)


def test_this_host_has_some_noise() -> None:
    meter = noise_meter()
    meter.before()
    noise = meter.after()
    assert noise.kernel_spread_before >= 0
    assert noise.score >= noise.kernel_spread_after
