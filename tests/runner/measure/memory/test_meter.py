from collections.abc import Callable
from pathlib import Path

import pytest

from runner.measure.memory.meter import MemoryMeter, memory_meter
from tests.support.memory_readers import (
    MIB,
    ScriptedReader,
    write_group_v1,
    write_group_v2,
    write_process,
)


def test_the_peak_is_what_counters_know_else_the_highest_reading() -> None:
    reader = ScriptedReader(use=10)
    meter = MemoryMeter(reader)
    for use, peak in ((30, 30), (20, 30)):
        reader.use = use
        assert meter.peak_bytes() == peak
    reader.peak = 70
    assert meter.peak_bytes() == 70


def test_a_reset_begins_a_new_peak_and_a_new_average() -> None:
    reader = ScriptedReader(use=10)
    meter = MemoryMeter(reader)
    meter.observe(lambda: None, min_s=0)
    meter.observe(lambda: reader.rise_briefly(300), min_s=0)
    assert meter.peak_bytes() == 300  # a brief use that no counter kept
    meter.mark()
    reader.use = 20
    meter.reset()
    use = meter.use()
    assert (use.peak_bytes, use.steady_peak_bytes, use.average_bytes) == (20, None, None)


@pytest.mark.parametrize(
    ("before", "after", "peak"), [(80, 40, 80), (None, 90, 90)], ids=["lower", "higher"]
)
def test_the_steady_peak_begins_at_the_mark(before: int | None, after: int, peak: int) -> None:
    reader = ScriptedReader(use=10)
    meter = MemoryMeter(reader)
    reader.peak = before
    meter.mark()
    reader.peak = after
    use = meter.use()
    assert (use.peak_bytes, use.steady_peak_bytes, use.average_bytes) == (peak, after, None)
    reader.use = 50
    meter.observe(lambda: None, min_s=0)
    reader.use = 10
    assert meter.use().average_bytes == 50


def test_processes_are_measured_by_their_own_peak(tmp_path: Path) -> None:
    proc = write_process(tmp_path / "proc", rss=40, peak=90, mapped=5)
    root = write_group_v2(tmp_path / "cgroup", usage=500, peak=600, file=0, shmem=0)
    meter = memory_meter(in_container=False, root=root, proc=proc)
    assert meter.method == "VmHWM, reset for each cell; average of VmRSS"
    assert (meter.current_bytes(), meter.peak_bytes()) == (40 * MIB, 90 * MIB)
    no_group = memory_meter(in_container=True, root=tmp_path, proc=proc)
    assert no_group.method == meter.method
    no_reset = memory_meter(in_container=False, proc=tmp_path / "none")
    assert no_reset.method.startswith("ru_maxrss where it rose")
    assert no_reset.peak_bytes() >= no_reset.current_bytes() // 2 > MIB


@pytest.mark.parametrize(
    ("version", "write"), [("v1", write_group_v1), ("v2", write_group_v2)], ids=["v1", "v2"]
)
def test_containers_are_measured_by_their_control_group(
    tmp_path: Path, version: str, write: Callable[..., Path]
) -> None:
    proc = write_process(tmp_path / "proc", rss=40, peak=40, mapped=5)
    root = write(tmp_path / "cgroup", usage=500, peak=500, file=300, shmem=100)
    meter = memory_meter(in_container=True, root=root, proc=proc)
    assert meter.method.startswith(f"cgroup {version}, without file cache")
    assert meter.current_bytes() == (500 - (300 - 100) + 5) * MIB
