"""Clocks are read around a steady phase and ten times a second during it."""

import os
import time
from pathlib import Path

from runner.measure.cpu_clock import CLOCK_INTERVAL_S, CpuClockMeter
from tests.support.machines import a_sys_folder, cores

CPU = "devices/system/cpu"
CLOCKS = {f"{CPU}/cpu{n}/cpufreq/scaling_cur_freq": str(2_000_000 + n) for n in range(2)}
HEAT = {
    f"{CPU}/cpu{n}/thermal_throttle/{part}_throttle_{what}": "3"
    for n in range(2)
    for part in ("core", "package")
    for what in ("count", "total_time_ms")
}


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


def test_a_cell_that_failed_leaves_no_readings_to_the_next(tmp_path: Path) -> None:
    folder = a_sys_folder(tmp_path, [cores(0, 1)], files=CLOCKS)
    clock_file = folder / f"{CPU}/cpu0/cpufreq/scaling_cur_freq"
    meter = CpuClockMeter([0], folder)
    meter.before()
    meter.begin()
    time.sleep(3 * CLOCK_INTERVAL_S)
    clock_file.write_text("1000000\n")
    meter.before()
    meter.begin()
    time.sleep(3 * CLOCK_INTERVAL_S)
    clock = meter.end()
    meter.close()
    assert clock is not None
    assert (clock.mean_hz, clock.low_hz) == (1_000_000e3, 1_000_000e3)


def test_cpus_that_a_container_does_not_allow_stop_no_readings(tmp_path: Path) -> None:
    beyond = max(os.sched_getaffinity(0)) + 1
    folder = a_sys_folder(tmp_path, [cores(0, 1), cores(beyond, 1)], files=CLOCKS)
    meter = CpuClockMeter([0], folder)
    meter.before()
    meter.begin()
    time.sleep(5 * CLOCK_INTERVAL_S)
    clock = meter.end()
    meter.close()
    assert clock is not None
    assert clock.mean_hz == 2_000_000e3


def test_a_guest_shows_nothing_and_starts_no_process(tmp_path: Path) -> None:
    meter = CpuClockMeter([0], a_sys_folder(tmp_path, [cores(0, 1)]))
    meter.before()
    meter.begin()
    assert meter.end() is None
    meter.close()


def test_a_process_that_has_died_spoils_nothing(tmp_path: Path) -> None:
    meter = CpuClockMeter([0], a_sys_folder(tmp_path, [cores(0, 1)], files=CLOCKS))
    meter.before()
    meter.begin()
    (tmp_path / f"{CPU}/cpu0/cpufreq/scaling_cur_freq").unlink()
    time.sleep(3 * CLOCK_INTERVAL_S)
    clock = meter.end()
    assert clock is not None
    assert (clock.before_hz, clock.mean_hz, clock.after_hz) == (2_000_000e3, None, None)
