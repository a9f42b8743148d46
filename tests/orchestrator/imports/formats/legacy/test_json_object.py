"""An entry gives its values away once; what nobody takes is in the details."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    details_of,
    read_time,
)
from runner.contract.errors import SkipEntry


def test_what_is_taken_is_not_in_the_details() -> None:
    entry = JsonObject(
        {"latency_ms": "12.5", "name": "bert", "rest": {"a": [1, 2], "b": None}}, "/x"
    )
    assert entry.number("latency_ms", "latency_mean_s", "ms") == 0.0125
    assert entry.text("title", "name") == "bert"
    assert entry.details() == {"rest.a": "[1, 2]"}


@pytest.mark.parametrize("value", [-1, "slow", True, [], float("inf")])
def test_what_is_no_measured_number_is_told_with_its_place(value: object) -> None:
    with pytest.raises(SkipEntry, match=r"^/x/latency_ms: "):
        JsonObject({"latency_ms": value}, "/x").number("latency_ms", "latency_mean_s", "ms")


@pytest.mark.parametrize("value", [None, float("nan"), "N/A"])
def test_what_says_nothing_is_no_number(value: object) -> None:
    assert (
        JsonObject({"latency_ms": value}, "/x").number("latency_ms", "latency_mean_s", "ms") is None
    )


def test_counts_are_whole() -> None:
    assert JsonObject({"iterations": 20.0}, "/x").count("iterations") == 20
    with pytest.raises(SkipEntry, match="not a whole number"):
        JsonObject({"iterations": 2.5}, "/x").count("iterations")


def test_durations_are_kept_in_order() -> None:
    assert JsonObject({"ms": [2.5, "1"]}, "/x").durations("ms", "ms") == (2500000, 1000000)
    assert JsonObject({"ms": []}, "/x").durations("ms", "ms") is None
    with pytest.raises(SkipEntry, match="/x/ms: one of the durations is missing"):
        JsonObject({"ms": [2.5, None]}, "/x").durations("ms", "ms")


def test_a_time_without_a_zone_says_so() -> None:
    entry = JsonObject({"timestamp": "20250302_221825"}, "/x")
    assert entry.moment("created", "timestamp") is not None
    assert entry.details() == {"timestamp": "20250302_221825 (no zone is given, taken as UTC)"}


def test_entries_below_it_know_their_place() -> None:
    entry = JsonObject({"a": [{}, {}], "b": {"c/d": {}}, "e": 5}, "/x")
    keys = ("a", "b", "e", "f")
    nodes = [node for key in keys for node in entry.nodes(key, NotImplemented, Context())]
    assert [node.location for node in nodes] == ["/x/a/0", "/x/a/1", "/x/b/c~1d"]


def test_an_entry_is_an_object() -> None:
    with pytest.raises(SkipEntry, match="/x: 5 is no object"):
        JsonObject(5, "/x")


@pytest.mark.parametrize(
    ("value", "moment", "has_zone"),
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
def test_points_in_time(value: object, moment: datetime, has_zone: bool) -> None:
    assert read_time(value) == (moment, has_zone)


@pytest.mark.parametrize("value", ["yesterday", "", 12, 1e300, float("nan"), True, None, []])
def test_what_is_no_point_in_time(value: object) -> None:
    assert read_time(value) is None


def test_long_text_is_shortened_and_says_so() -> None:
    details = details_of({"stdout": "x" * 1500, "code": 0})
    assert details["stdout"] == "x" * 1000 + " … (1500 characters)"
    assert details["code"] == "0"
