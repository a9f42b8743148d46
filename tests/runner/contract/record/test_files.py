"""Rows of Arrow tables as Python has them."""

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from runner.contract.record import rows

MOMENT = datetime(2026, 11, 22, 6, 54, 1, 123456)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_moment_is_the_same_as_a_datetime(unit: str) -> None:
    for moment, zone in ((MOMENT, None), (MOMENT.replace(tzinfo=UTC), "UTC")):
        table = pa.table({"at": pa.array([moment, None], pa.timestamp(unit, zone))})
        assert rows(table) == [{"at": moment}, {"at": None}]


def test_a_moment_of_another_zone_is_told_in_utc() -> None:
    there = MOMENT.replace(tzinfo=timezone(timedelta(hours=2)))
    (row,) = rows(pa.table({"at": pa.array([there], pa.timestamp("us", "+02:00"))}))
    assert row["at"] == there
    assert row["at"].tzinfo == UTC


def test_a_map_is_a_dict() -> None:
    libraries = pa.array([[("torch", "2")], None], pa.map_(pa.string(), pa.string()))
    assert rows(pa.table({"libraries": libraries})) == [
        {"libraries": {"torch": "2"}},
        {"libraries": None},
    ]
