"""What becomes of a database when a file is read again."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from orchestrator.imports.change import change_to, dated, newer
from orchestrator.imports.content import Content

THEN = datetime(2026, 11, 21, tzinfo=UTC)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
HELD = {"a": Content("1", THEN), "b": Content("2", THEN), "c": Content("3", THEN)}
READ = {"a": Content("1", NOW), "b": Content("9", NOW), "d": Content("4", NOW)}


def test_records_are_new_changed_there_or_gone() -> None:
    change = change_to(HELD, READ)
    assert (change.new, change.changed) == (("d",), ("b",))
    assert (change.there, change.gone) == (("a",), ("c",))
    assert not change.is_none
    assert change_to(HELD, HELD).is_none
    assert change_to({}, READ).new == ("a", "b", "d")


def moments(held: dict[str, Content], read: dict[str, Content], now: datetime) -> list[datetime]:
    type_ = pa.timestamp("us", tz="UTC")
    table = pa.table({"cell_id": list(read), "recorded_at": pa.array([NOW] * len(read), type_)})
    told: list[datetime] = dated(table, held, change_to(held, read), now)["recorded_at"].to_pylist()
    return told


def test_what_did_not_change_keeps_its_time() -> None:
    assert moments(HELD, READ, NOW) == [THEN, NOW, NOW]


def test_what_changed_is_newer_even_if_the_clock_went_back() -> None:
    past = THEN - timedelta(days=1)
    assert moments(HELD, READ, past) == [THEN, THEN + timedelta(microseconds=1), past]


def test_a_file_serves_if_a_merge_of_it_changes_what_is_to_change() -> None:
    change = change_to(HELD, READ)
    assert newer(READ, HELD, change)
    assert not newer({**READ, "b": Content("9", THEN)}, HELD, change)
