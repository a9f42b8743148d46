"""Rows are the same_contents if they say the same_contents, whenever and under whichever name."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.imports.content import (
    contents_by_run,
    contents_of,
    files_in,
    is_less_informative,
    link_to,
    same_contents,
)
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.outcome import FileOutcome
from orchestrator.imports.reading import Reading
from orchestrator.imports.record import records_table
from runner.contract.errors import UsageError
from tests.orchestrator.imports.files import write

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


def test_folders_are_searched_in_order_and_hidden_files_left_out(tmp_path: Path) -> None:
    for name in ("b.json", "a/2.csv", "a/1.csv", ".git/config.json", "a/.1.csv.tmp"):
        write(tmp_path / name, "")
    found = [str(file.relative_to(tmp_path)) for file in files_in([tmp_path])]
    assert found == ["b.json", "a/1.csv", "a/2.csv"]


def test_a_file_named_twice_is_looked_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", "{}")
    assert files_in([file, tmp_path, file]) == [file]


def test_a_named_file_may_be_hidden(tmp_path: Path) -> None:
    file = write(tmp_path / ".a.json", "{}")
    assert files_in([file]) == [file]


def test_what_is_left_out_is_so_by_any_name(tmp_path: Path) -> None:
    mapping = write(tmp_path / "lab.yaml", "")
    write(tmp_path / "lab.csv", "")
    left = files_in([tmp_path], without=[tmp_path / "x" / ".." / mapping.name])
    assert [file.name for file in left] == ["lab.csv"]


def test_links_that_lead_in_circles_are_looked_at(tmp_path: Path) -> None:
    mapping = write(tmp_path / "lab.yaml", "")
    (tmp_path / "one.csv").symlink_to(tmp_path / "two.csv")
    (tmp_path / "two.csv").symlink_to(tmp_path / "one.csv")
    left = files_in([tmp_path], without=[mapping])
    assert [file.name for file in left] == ["one.csv", "two.csv"]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "{}")
    made = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=made)
        above, made = made, os.open("x" * 250, os.O_RDONLY, dir_fd=made)
        os.close(above)
    os.close(made)
    first, unlisted = files_in([tmp_path])
    assert first.name == "a.json"
    assert unlisted.name == "x" * 250


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        files_in([tmp_path / "nowhere"])


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside/a.json", "{}")
    inside = write(tmp_path / "inside/b.json", "{}").parent
    (inside / "way-out").symlink_to(tmp_path / "outside")
    (inside / "circle").symlink_to(inside)
    assert [file.name for file in files_in([inside])] == ["b.json"]


def test_a_link_on_the_way_to_a_file_is_known(tmp_path: Path) -> None:
    file = write(tmp_path / "real/a.json", "{}")
    named = tmp_path / "named"
    named.symlink_to(file.parent)
    link = file.parent / "link.json"
    link.symlink_to(file)
    assert link_to(file, [file.parent]) is None
    assert link_to(file, [named]) is None
    assert link_to(link, [file.parent]) == link
    assert link_to(named / "a.json", [named]) == named
    (found,) = files_in([named / "a.json"])
    assert found == named / "a.json"
