"""A file ends as measurements, as nothing to measure, or as damaged."""

import pytest

from orchestrator.exchange.imports.entry import FileEntry, gather
from runner.contract.errors import DamagedFile


def an_entry(location: str, latency: object) -> FileEntry:
    entry = FileEntry(location)
    entry.set(status="ok")
    entry.text("model", "net", "resnet50")
    entry.number("latency_mean_s", "ms", latency, "ms")
    return entry


def test_broken_and_empty_entries_let_the_others_through() -> None:
    broken = FileEntry("line 5", "line 5: cut off")
    entries = [an_entry(f"line {n}", value) for n, value in ((2, 5), (3, "fast"), (4, None))]
    reading = gather([*entries, broken], "a table")
    assert [measurement.location for measurement in reading.measurements] == ["line 2"]
    assert reading.faults == ("line 3: ms: 'fast' is not a number", "line 5: cut off")
    assert reading.empty == ("line 4",)
    assert reading.nothing is None


def test_empty_entries_alone_are_no_measurement() -> None:
    reading = gather([an_entry("line 2", None)], "a table of models")
    assert (reading.measurements, reading.nothing) == ((), "a table of models")


def test_broken_entries_alone_make_a_damaged_file() -> None:
    entries = [an_entry(f"line {line}", -1) for line in range(2, 9)]
    with pytest.raises(DamagedFile, match=r"^line 2: ms: -1 is negative; .*; and 2 more$"):
        gather(entries, "a table")
