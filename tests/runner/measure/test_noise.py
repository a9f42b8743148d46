import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.measure.noise import KERNEL_REPEATS, NoiseMeter, ProcStat, parse_times
from tests.support.fakes import FakeClock

SECOND = os.sysconf("SC_CLK_TCK")
IDLE = {"user": 0, "idle": 0}


class Host:
    """A /proc/stat, a clock, our own CPU time and a kernel, all scripted."""

    def __init__(self, folder: Path, durations: Iterator[int]) -> None:
        self._clock = FakeClock()
        self._durations = durations
        self.path = folder / "stat"
        self.own_s = 0.0
        self.meter = NoiseMeter(ProcStat(self.path), self._clock, self._kernel, lambda: self.own_s)

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


@pytest.mark.parametrize(
    ("before", "after", "own_s", "steal", "other_load"),
    [
        ({"user": 10, "idle": 100}, {"user": 20, "idle": 110}, 10.0, 0, 0),
        (IDLE, {"user": 5, "irq": 1, "idle": 12, "steal": 2}, 4.0, 2 / 20, (5 + 1 - 4) / 20),
        (IDLE, {"user": 1, "idle": 9}, 1.02, 0, 0),
        ({"user": 1, "idle": 1}, {}, 0.0, None, None),
        ({}, {}, 0.0, None, None),
    ],
    ids=["silent", "busy without ours and steal", "own time ahead", "one tick", "no /proc/stat"],
)
def test_shares_of_the_hosts_time(
    tmp_path: Path,
    before: dict[str, float],
    after: dict[str, float],
    own_s: float,
    steal: float | None,
    other_load: float | None,
) -> None:
    host = Host(tmp_path, steady(1000))
    for times, act in ((before, host.meter.before), (after, lambda: None)):
        if times:
            host.spend(**times)
        act()
    host.own_s = own_s
    noise = host.meter.after()
    assert (noise.steal, noise.other_load) == (pytest.approx(steal), pytest.approx(other_load))
    assert noise.kernel_shift == 0
    assert noise.score == pytest.approx((steal or 0) + (other_load or 0))


def test_what_a_hypervisor_takes_from_other_cpus_delays_nobody_here() -> None:
    def text(*steal: int) -> str:
        rows = [[0, 0, 0, SECOND, 0, 0, 0, ticks * SECOND, 0, 0] for ticks in steal]
        names = ["cpu ", *(f"cpu{number}" for number in range(len(steal) - 1))]
        return "\n".join(
            f"{n} {' '.join(map(str, row))}" for n, row in zip(names, rows, strict=True)
        )

    times = [parse_times(text(4, 3, 1, 0), 0.0, cpus) for cpus in (None, [0], [1, 2], [9])]
    assert [(one.steal, one.used) for one in times] == [(4, 5), (3, 4), (1, 3), (4, 5)]


@pytest.mark.parametrize(
    ("first", "then", "spread", "shift"),
    [
        (lambda n: 1000 + 100 * n, lambda _: 2000, 0.9 * 19 * 100 / 1000, None),
        (lambda n: 9000 if n == 3 else 1000, lambda _: 1000, 0, 0),
        (lambda _: 1000, lambda _: 1250, 0, 0.25),
    ],
    ids=["to the ninetieth percentile", "one slow run is none", "shift of the medians"],
)
def test_spread_and_shift_of_the_kernel(
    tmp_path: Path,
    first: Callable[[int], int],
    then: Callable[[int], int],
    spread: float,
    shift: float | None,
) -> None:
    host = Host(tmp_path, after_warming(first, then))
    host.meter.before()
    noise = host.meter.after()
    assert noise.kernel_spread_before == pytest.approx(spread)
    assert noise.kernel_spread_after == 0
    assert shift is None or noise.kernel_shift == pytest.approx(shift)


def test_what_others_do_between_bursts_is_not_counted(tmp_path: Path) -> None:
    """Two bursts of our own second each, beside half a second of others and steal."""
    host = Host(tmp_path, steady(1000))
    user = idle = steal = 0.0

    def passes(
        *, ours: float = 0.0, others: float = 0.0, free: float = 0.0, taken: float = 0.0
    ) -> None:
        nonlocal user, idle, steal
        user, idle, steal = user + ours + others, idle + free, steal + taken
        host.own_s += ours
        host.spend(user=user, idle=idle, steal=steal)

    passes()
    host.meter.before()
    passes(ours=2, free=2)  # the warm-up
    host.meter.pause()
    for _ in range(2):
        passes(ours=0.1, others=40, free=3, taken=7)  # their turns, and our rest
        host.meter.resume()
        passes(ours=1, others=0.5, free=0.25, taken=0.25)
        host.meter.pause()
    passes(others=60)
    host.meter.resume()
    noise = host.meter.after()
    assert noise.other_load == pytest.approx(1 / 8)
    assert noise.steal == pytest.approx(0.5 / 8)


@pytest.mark.parametrize("shown", ["never", "at first", "later"])
def test_a_host_that_shows_no_times_has_no_shares_however_often_it_is_paused(
    tmp_path: Path, shown: str
) -> None:
    host = Host(tmp_path, steady(1000))
    if shown == "at first":
        host.spend(user=1, idle=1)
    host.meter.before()
    host.path.unlink(missing_ok=True)
    host.meter.pause()
    if shown == "later":
        host.spend(user=1, idle=1)
    host.meter.resume()
    noise = host.meter.after()
    assert (noise.steal, noise.other_load) == (None, None)
