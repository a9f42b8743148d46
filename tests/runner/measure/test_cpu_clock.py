"""Clocks are read around a steady phase and ten times a second during it."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from runner.contract.axes import Backend
from runner.contract.host import is_pinned
from runner.contract.rounds import CpuClock
from runner.measure.cpu_clock import CLOCK_INTERVAL_S, CpuClockMeter
from tests.support.jobs import a_job, fake_cell
from tests.support.machines import a_sys_folder, cores

CPU = "devices/system/cpu"
CLOCKS = {f"{CPU}/cpu{n}/cpufreq/scaling_cur_freq": str(2_000_000 + n) for n in range(2)}


def counters(part: str, counts: Sequence[int], times_ms: Sequence[int]) -> dict[str, str]:
    """The counters of a part of each CPU."""
    return {
        f"{CPU}/cpu{n}/thermal_throttle/{part}_throttle_{counter}": str(value)
        for counter, column in {"count": counts, "total_time_ms": times_ms}.items()
        for n, value in enumerate(column)
    }


HEAT = counters("core", [3, 3], [3, 3]) | counters("package", [3, 3], [3, 3])


def read(meter: CpuClockMeter) -> CpuClock:
    """The clock around a steady phase of some readings."""
    meter.before()
    meter.begin()
    time.sleep(5 * CLOCK_INTERVAL_S)
    clock = meter.end()
    assert clock is not None
    return clock


def test_clocks_before_during_and_after(tmp_path: Path) -> None:
    folder = a_sys_folder(tmp_path, [cores(0, 2)], files={**CLOCKS, **HEAT})
    meter = CpuClockMeter([0, 1], folder)
    meter.before()
    meter.begin()
    (folder / f"{CPU}/cpu0/cpufreq/scaling_cur_freq").write_text("1000000\n")
    (folder / f"{CPU}/cpu1/thermal_throttle/package_throttle_count").write_text("5\n")
    (folder / f"{CPU}/cpu1/thermal_throttle/core_throttle_total_time_ms").write_text("53\n")
    time.sleep(8 * CLOCK_INTERVAL_S)
    clock = meter.end()
    meter.close()
    assert clock is not None
    assert (clock.before_hz, clock.after_hz) == (2_000_000.5e3, 1_500_000.5e3)
    assert clock.mean_hz == 1_500_000.5e3
    assert clock.low_hz == 1_000_000e3
    assert (clock.throttle_events, clock.throttled_s) == (2, 0.05)


@pytest.mark.slow
def test_clocks_while_others_take_their_turns_are_not_its_own(tmp_path: Path) -> None:
    folder = a_sys_folder(tmp_path, [cores(0, 1)], files=CLOCKS)
    path = folder / f"{CPU}/cpu0/cpufreq/scaling_cur_freq"
    meter = CpuClockMeter([0], folder)
    meter.before()
    meter.begin()
    meter.pause()
    for own, others in (("2000000", "800000"), ("3000000", "700000")):
        path.write_text(own)
        meter.resume()
        time.sleep(3 * CLOCK_INTERVAL_S)
        meter.pause()
        path.write_text(others)
        time.sleep(3 * CLOCK_INTERVAL_S)
    clock = meter.end()
    meter.close()
    assert clock is not None
    assert clock.low_hz == 2_000_000e3
    assert clock.mean_hz is not None
    assert 2_000_000e3 < clock.mean_hz < 3_000_000e3
    assert clock.after_hz == 700_000e3


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            counters("core", [1000, 10], [9000, 50]),
            counters("core", [1000, 500], [9000, 800]),
            (490, 0.75),
        ),
        (
            counters("package", [7, 400], [60, 7000]),
            counters("package", [9, 400], [90, 7000]),
            (2, 0.03),
        ),
        (
            counters("core", [1, 1], [10, 10]) | counters("package", [1, 1], [10, 10]),
            counters("core", [4, 3], [510, 310]) | counters("package", [6, 6], [410, 410]),
            (5, 0.5),
        ),
        (
            {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "1"},
            {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "4"},
            (3, None),
        ),
    ],
    ids=["a core with a long past", "the other package", "both at once", "no times"],
)
def test_the_most_that_one_core_or_package_was_held_down_counts(
    before: Mapping[str, str],
    after: Mapping[str, str],
    found: tuple[int, float | None],
    tmp_path: Path,
) -> None:
    folder = a_sys_folder(tmp_path, [cores(0, 2)], files=before)
    meter = CpuClockMeter([0, 1], folder)
    meter.before()
    meter.begin()
    for name, count in after.items():
        (folder / name).write_text(f"{count}\n")
    clock = meter.end()
    assert clock is not None
    assert (clock.throttle_events, clock.throttled_s) == found


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("backend", "threads", "hz"),
    [("cuda", None, None), ("cuda", 1, 2_000_000e3), ("cpu", None, 2_000_000e3)],
)
def test_only_the_heat_is_read_of_cpus_that_a_job_is_not_pinned_to(
    backend: Backend, threads: int | None, hz: float | None, tmp_path: Path
) -> None:
    folder = a_sys_folder(tmp_path, [cores(0, 1)], files={**CLOCKS, **HEAT})
    job = a_job([fake_cell(backend=backend, threads=threads)])
    meter = CpuClockMeter([0], folder, pinned=is_pinned(job))
    clock = read(meter)
    meter.close()
    assert {clock.before_hz, clock.mean_hz, clock.low_hz, clock.after_hz} == {hz}
    assert (clock.throttle_events, clock.throttled_s) == (0, 0.0)
