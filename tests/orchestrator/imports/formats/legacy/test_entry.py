"""An entry gives its values away once; what nobody takes is in the details."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.imports.formats.base import NotReadable
from orchestrator.imports.formats.legacy.entry import Around, Entry, details_of, moment_from


def test_what_is_taken_is_not_in_the_details() -> None:
    entry = Entry({"latency_ms": "12.5", "name": "bert", "rest": {"a": [1, 2], "b": None}}, "/x")
    assert entry.number("latency_ms", "latency_mean_s", "ms") == 0.0125
    assert entry.text("title", "name") == "bert"
    assert entry.details() == {"rest.a": "[1, 2]"}


@pytest.mark.parametrize("value", [-1, "slow", True, [], float("inf")])
def test_what_is_no_measured_number_is_told_with_its_place(value: object) -> None:
    with pytest.raises(NotReadable, match=r"^/x/latency_ms: "):
        Entry({"latency_ms": value}, "/x").number("latency_ms", "latency_mean_s", "ms")


@pytest.mark.parametrize("value", [None, float("nan"), "N/A"])
def test_what_says_nothing_is_no_number(value: object) -> None:
    assert Entry({"latency_ms": value}, "/x").number("latency_ms", "latency_mean_s", "ms") is None


def test_counts_are_whole() -> None:
    assert Entry({"iterations": 20.0}, "/x").count("iterations") == 20
    with pytest.raises(NotReadable, match="not a whole number"):
        Entry({"iterations": 2.5}, "/x").count("iterations")


def test_durations_are_kept_in_order() -> None:
    assert Entry({"ms": [2.5, "1"]}, "/x").durations("ms", "ms") == (2500000, 1000000)
    assert Entry({"ms": []}, "/x").durations("ms", "ms") is None
    with pytest.raises(NotReadable, match="/x/ms: one of the durations is missing"):
        Entry({"ms": [2.5, None]}, "/x").durations("ms", "ms")


def test_a_time_without_a_zone_says_so() -> None:
    entry = Entry({"timestamp": "20250302_221825"}, "/x")
    assert entry.moment("created", "timestamp") is not None
    assert entry.details() == {"timestamp": "20250302_221825 (no zone is given, taken as UTC)"}


def test_entries_below_it_know_their_place() -> None:
    entry = Entry({"a": [{}, {}], "b": {"c/d": {}}, "e": 5}, "/x")
    keys = ("a", "b", "e", "f")
    spots = [spot for key in keys for spot in entry.spots(key, NotImplemented, Around())]
    assert [spot.place for spot in spots] == ["/x/a/0", "/x/a/1", "/x/b/c~1d"]


def test_an_entry_is_an_object() -> None:
    with pytest.raises(NotReadable, match="/x: 5 is no object"):
        Entry(5, "/x")


@pytest.mark.parametrize(
    ("value", "moment", "told"),
    [
        ("2025-03-06T17:45:26.506441", datetime(2025, 3, 6, 17, 45, 26, 506441, UTC), False),
        ("20250302_221825", datetime(2025, 3, 2, 22, 18, 25, tzinfo=UTC), False),
        (1740730873.5, datetime(2025, 2, 28, 8, 21, 13, 500000, UTC), True),
        (
            "2025-03-06T17:45:26+02:00",
            datetime(2025, 3, 6, 17, 45, 26, tzinfo=timezone(timedelta(hours=2))),
            True,
        ),
    ],
)
def test_points_in_time(value: object, moment: datetime, told: bool) -> None:
    assert moment_from(value) == (moment, told)


@pytest.mark.parametrize("value", ["yesterday", "", 12, 1e300, float("nan"), True, None, []])
def test_what_is_no_point_in_time(value: object) -> None:
    assert moment_from(value) is None


def test_long_text_is_shortened_and_says_so() -> None:
    details = details_of({"stdout": "x" * 1500, "code": 0})
    assert details["stdout"] == "x" * 1000 + " … (1500 characters)"
    assert details["code"] == "0"
