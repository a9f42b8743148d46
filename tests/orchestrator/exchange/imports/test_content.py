"""Rows are the same_contents if they say the same_contents, whenever and under whichever name."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.exchange.imports.record import (
    contents_by_run,
    contents_of,
    is_less_informative,
    records_table,
    same_contents,
)

EARLIER = datetime(2026, 11, 21, tzinfo=UTC)
LATER = datetime(2026, 11, 22, tzinfo=UTC)


def table(path: str = "a.json", at: datetime = LATER, **columns: object) -> pa.Table:
    values = {
        "location": "/",
        "model": "m",
        "status": "ok",
        "throughput": 5,
        "libraries": {"a": "1"},
    }
    found = ImportedMeasurement.model_validate(values | columns)
    return records_table(FileOutcome(Path(path), "f", "x", "y", Reading((found,))), at)


def test_time_and_name_of_the_file_do_not_matter() -> None:
    one, two = contents_of(table()), contents_of(table("b.json", EARLIER))
    assert same_contents(one, two)
    assert {each.recorded_at for each in one.values()} == {LATER}
    assert {each.recorded_at for each in two.values()} == {EARLIER}


def test_every_other_value_does() -> None:
    changes = [
        {"throughput": 5.000000000000001},
        {"simulated": True, "marks": ("/mock: true",)},
        {"measured_at": LATER},
        {"details": {"note": "x"}},
        {"libraries": {"a": "2"}},
        {"durations_ns": (1, 2)},
        {"status": "failed", "reason": "x"},
    ]
    sums = [frozenset(each.sha for each in contents_of(table()).values())]
    sums += [frozenset(each.sha for each in contents_of(table(**c)).values()) for c in changes]
    assert len(set(sums)) == len(changes) + 1


def test_lists_and_maps_that_hold_nothing_are_null() -> None:
    one = table(libraries={})
    place = one.schema.get_field_index("libraries")
    empty = pa.array([[]], one.schema.field(place).type)
    assert same_contents(contents_of(one), contents_of(one.set_column(place, "libraries", empty)))


def test_rows_of_several_runs_are_kept_apart() -> None:
    one, two = table(), table(throughput=6)
    place = two.schema.get_field_index("run_id")
    other = two.set_column(place, "run_id", pa.array(["import-2"]))
    found = contents_by_run(pa.concat_tables([one, other]))
    assert same_contents(found[one["run_id"][0].as_py()], contents_of(one))
    assert same_contents(found["import-2"], contents_of(other))


def test_of_two_names_one_can_tell_less() -> None:
    bare, full = contents_of(table("copy.csv")), contents_of(table("full.csv", precision="amp"))
    assert is_less_informative(bare, full)
    assert not is_less_informative(full, bare)
    assert not is_less_informative(bare, {})
    assert not is_less_informative(bare, contents_of(table("other.csv")))
    assert not is_less_informative(contents_of(table("full.csv")), full)
