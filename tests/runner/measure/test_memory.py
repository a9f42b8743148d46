from pathlib import Path

import pytest

from runner.measure.memory import MemoryMeter

MIB = 1 << 20
KNOWN = 256 * MIB


def test_a_known_allocation_is_measured_within_five_percent() -> None:
    meter = MemoryMeter()
    meter.reset()
    before = meter.peak_bytes()
    held = bytearray(b"x") * KNOWN
    del held
    assert meter.peak_bytes() - before == pytest.approx(KNOWN, rel=0.05)


def test_a_reset_forgets_the_peak() -> None:
    meter = MemoryMeter()
    held = bytearray(b"x") * KNOWN
    del held
    peak = meter.peak_bytes()
    meter.reset()
    assert meter.peak_bytes() < peak - KNOWN // 2


def test_the_average_lies_between_the_samples() -> None:
    meter = MemoryMeter()
    meter.sample()
    held = bytearray(b"x") * KNOWN
    meter.sample()
    average = meter.average_bytes()
    assert average is not None
    assert meter.peak_bytes() - KNOWN < average < meter.peak_bytes()
    assert len(held) == KNOWN
    meter.reset()
    assert meter.average_bytes() is None


def test_without_resets_the_method_says_so(tmp_path: Path) -> None:
    meter = MemoryMeter(proc=tmp_path / "none")
    meter.sample()
    assert meter.method == "ru_maxrss, since the process started"
    assert meter.peak_bytes() > MIB
    assert meter.average_bytes() is None
