import subprocess
import sys

import pytest

from runner.measure.memory.meter import MemoryMeter
from runner.measure.memory.readers import ResidentReader

MIB = 1 << 20
KNOWN = 256 * MIB
LIFETIME = """
from runner.measure.memory.meter import MemoryMeter
from runner.measure.memory.readers import LifetimeReader

KNOWN = 256 << 20
meter = MemoryMeter(LifetimeReader())
before = meter.current_bytes()
held = bytearray(b"x") * KNOWN
del held
print(meter.peak_bytes() - before)

meter.reset()
before = meter.peak_bytes()
held = bytearray(b"x") * (KNOWN // 2)
meter.observe(lambda: None, min_s=0)
del held
print(meter.peak_bytes() - before)
"""


def test_peak_and_average_of_a_known_allocation_are_within_five_percent() -> None:
    meter = MemoryMeter(ResidentReader())
    before, low = meter.peak_bytes(), meter.current_bytes()
    held = bytearray(b"x") * KNOWN
    meter.observe(lambda: None, min_s=0.05)
    average = meter.use().average_bytes
    del held
    assert meter.peak_bytes() - before == pytest.approx(KNOWN, rel=0.05)
    assert average is not None
    assert average - low == pytest.approx(KNOWN, rel=0.05)


@pytest.mark.slow
def test_a_peak_that_cannot_be_reset_is_exact_if_it_rises_and_sampled_if_not() -> None:
    # A process starts with its parent's peak; the shell in between has next to none.
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, LIFETIME]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rose, sampled = map(int, done.stdout.split())
    assert rose == pytest.approx(KNOWN, rel=0.05)
    assert sampled == pytest.approx(KNOWN // 2, rel=0.05)
