"""Entries become measurements, each for itself."""

from typing import Any

import pytest

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.found import Found
from orchestrator.imports.reading import NotReadable


def latency(entry: Entry, around: Around) -> Found:
    return found(
        entry,
        around,
        {"model": entry.text("model"), "latency_mean_s": entry.number("s", "latency_mean_s")},
    )


def spots(*values: Any) -> list[Spot]:
    around = Around({"backend": "cpu", "model": "outer"}, {"machine": "x"}, ("/mock: true",))
    return [Spot(value, f"/{index}", latency, around) for index, value in enumerate(values)]


def test_an_entrys_own_words_come_before_those_around_it() -> None:
    first, second = each(spots({"s": 1}, {"s": 2, "model": "inner", "z": 3}), "nothing").found
    assert (first.model, second.model) == ("outer", "inner")
    assert (first.backend, second.latency_mean_s) == ("cpu", 2)
    assert second.details == {"machine": "x", "z": "3"}
    assert (second.simulated, second.marks) == (True, ("/mock: true",))


def test_a_broken_entry_leaves_the_others() -> None:
    reading = each(spots({"s": 1}, {"s": "slow"}, 5, {"s": None}), "nothing")
    assert [found.place for found in reading.found] == ["/0"]
    assert reading.faults == ("/1/s: 'slow' is not a number", "/2: 5 is no object")
    assert reading.empty == ("/3",)


def test_broken_entries_alone_make_a_file_not_readable() -> None:
    with pytest.raises(NotReadable, match=r"^/0: 1 is no object; .*; and 1 more$"):
        each(spots(1, 2, 3, 4), "nothing")


def test_a_file_without_measured_values_is_named() -> None:
    assert each(spots({}), "a list of nothing").nothing == "a list of nothing"


def test_columns_hold_what_the_database_can_store() -> None:
    around = Around({"model": "m", "latency_mean_s": 1})
    with pytest.raises(NotReadable, match=f"/x: iterations: {2**63} is more than {2**63 - 1}"):
        found(Entry({}, "/x"), around, {"iterations": 2**63})
    with pytest.raises(NotReadable, match="/x: batch_size: 0 is not above 0"):
        found(Entry({}, "/x"), around, {"batch_size": 0})
    with pytest.raises(NotReadable, match="/x: it names no model"):
        found(Entry({}, "/x"), Around(), {})
