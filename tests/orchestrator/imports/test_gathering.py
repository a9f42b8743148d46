"""A file ends as measurements, as nothing to measure, or as not readable."""

import pytest

from orchestrator.imports.entry import Entry
from orchestrator.imports.formats.base import NotReadable
from orchestrator.imports.gathering import Gathering


def entry(place: str, latency: object, model: object = "resnet50") -> Entry:
    entry = Entry(place)
    entry.set(status="ok")
    entry.text("model", "net", model)
    entry.number("latency_mean_s", "ms", latency, "ms")
    return entry


def test_broken_and_empty_entries_let_the_others_through() -> None:
    gathering = Gathering()
    for taken in (entry("line 2", 5), entry("line 3", "fast"), entry("line 4", None)):
        gathering.take(taken)
    gathering.fault("line 5: cut off")
    reading = gathering.reading("a table")
    assert [found.place for found in reading.found] == ["line 2"]
    assert reading.faults == ("line 3: ms: 'fast' is not a number", "line 5: cut off")
    assert reading.empty == ("line 4",)
    assert reading.nothing is None


def test_empty_entries_alone_are_no_measurement() -> None:
    gathering = Gathering()
    gathering.take(entry("line 2", None))
    reading = gathering.reading("a table of models")
    assert (reading.found, reading.nothing) == ((), "a table of models")


def test_broken_entries_alone_make_the_file_not_readable() -> None:
    gathering = Gathering()
    for line in range(2, 9):
        gathering.take(entry(f"line {line}", -1))
    with pytest.raises(NotReadable, match=r"^line 2: ms: -1 is negative; .*; and 2 more$"):
        gathering.reading("a table")
