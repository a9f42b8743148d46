import subprocess
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from runner.measure.memory.meter import MemoryMeter
from runner.measure.memory.readers import ResidentReader, TreeReader
from tests.support.memory_readers import KIB

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


PSS = "Rss:  90 kB\nPss:  {} kB\nPss_Anon:  1 kB\n"
RESIDENT = 90 * KIB


def a_process(pid: int, refusal: Exception | None = None, *children: Any) -> Any:
    """One with a resident set of 90 KiB, or that psutil refuses to read."""

    def memory_info() -> SimpleNamespace:
        if refusal:
            raise refusal
        return SimpleNamespace(rss=RESIDENT)

    return SimpleNamespace(
        pid=pid, children=lambda *, recursive: [*children], memory_info=memory_info
    )


def rollups(texts: Mapping[int, str | Exception]) -> Callable[[int], str]:
    def rollup(pid: int) -> str:
        text = texts[pid]
        if isinstance(text, Exception):
            raise text
        return text

    return rollup


def a_reader(rollup: str | Exception, refusal: Exception | None = None) -> TreeReader:
    """A reader of a process of 10 KiB with one child."""
    tree = a_process(1, None, a_process(2, refusal))
    return TreeReader(tree, rollups({1: PSS.format(10), 2: rollup}))


@pytest.mark.parametrize(
    ("rollup", "refusal", "child_bytes", "words", "gap"),
    [
        (PSS.format(20), None, 20 * KIB, "and their average", None),
        (FileNotFoundError(), None, RESIDENT, "and their average", None),
        (FileNotFoundError(), psutil.NoSuchProcess(2), 0, "and their average", None),
        (ProcessLookupError(), None, 0, "and their average", None),
        ("", None, 0, "and their average", None),
        (PermissionError(), None, RESIDENT, "resident set, which counts shared pages again", None),
        (PermissionError(), psutil.AccessDenied(2), 0, "none, as this user", "memory of 1 of"),
    ],
    ids=["read", "no-rollup", "ended", "ending", "zombie", "resident", "unreadable"],
)
def test_what_is_not_read_is_told(
    rollup: str | Exception,
    refusal: Exception | None,
    child_bytes: int,
    words: str,
    gap: str | None,
) -> None:
    reader = a_reader(rollup, refusal)
    assert [reader.current_bytes() for _ in range(2)] == [10 * KIB + child_bytes] * 2
    assert words in reader.method
    assert (gap or "") in (reader.gap or "")
    assert bool(gap) == bool(reader.gap)


def test_a_cell_whose_processes_cannot_be_read_has_no_memory_in_place_of_too_little() -> None:
    meter = MemoryMeter(a_reader(PermissionError(), psutil.AccessDenied(2)))
    meter.mark()
    meter.observe(lambda: None, min_s=0)
    use = meter.use()
    assert (use.peak_bytes, use.steady_peak_bytes, use.average_bytes) == (None, None, None)
    assert "this user may not read the memory of 1 of them" in meter.method
