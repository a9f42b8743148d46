"""Files are found in order, and a document answers what it parses to, whatever it holds."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from orchestrator.exchange.imports.document import (
    TOP,
    Document,
    TableRow,
    column_names,
    files_in,
    last_key,
    link_to,
    parse_boolean,
    parse_time,
    pointer,
    rows_of,
)
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import text_document, write


def test_a_name_that_stands_twice_must_mean_the_same() -> None:
    assert text_document('{"a": 1, "b": 2, "a": 1}').json == {"a": 1, "b": 2}


def test_the_header_is_the_first_line_s_fields() -> None:
    assert text_document('\ufeffmodel,"a,b", c \r\n1,2,3\r\n').first_line() == ["model", "a,b", "c"]
    assert text_document("").first_line() == []
    assert text_document("x" * 200_000).first_line() == []


def test_halves_of_letters_become_question_marks() -> None:
    assert text_document('{"a\\ud800": ["\\udfff", "\\ud83d\\ude00", 1]}').json == {
        "a?": ["?", "\U0001f600", 1]
    }


def test_utf_16_is_text_where_its_mark_says_so() -> None:
    assert Document(Path("a.json"), '{"a": 1}'.encode("utf-16")).json == {"a": 1}
    assert Document(Path("a.json"), b"\xff\xfe\x00").text is None
    assert Document(Path("a.json"), b"\xe9").text is None


def test_a_place_below_the_whole_and_below_another() -> None:
    assert pointer(TOP, "results", 0) == "/results/0"
    assert pointer("/results", "google/t5", "a~b") == "/results/google~1t5/a~0b"


def test_its_last_key_is_told_as_the_file_writes_it() -> None:
    assert last_key("/results/google~1t5") == "google/t5"
    assert last_key("/results/a~0b") == "a~b"


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


def test_rows_know_their_lines() -> None:
    document = text_document('\ufeffmodel, ms\r\n"a,b",1\r\n\r\n,\r\nc,2\r\n')
    assert column_names(document) == ["model", "ms"]
    assert list(rows_of(document)) == [
        TableRow("line 2", {"model": "a,b", "ms": "1"}),
        TableRow("line 5", {"model": "c", "ms": "2"}),
    ]


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    document = text_document("model\na\n" + "x" * 200_000)
    with pytest.raises(DamagedFile, match="line 3: not CSV: field larger than field limit"):
        list(rows_of(document))
    assert column_names(text_document("x" * 200_000)) == []


@pytest.mark.parametrize(
    ("value", "truth"),
    [(True, True), ("True", True), (1, True), ("no", False), (0, False), (None, None)],
)
def test_yes_and_no(value: object, truth: bool | None) -> None:
    assert parse_boolean(value) is truth


@pytest.mark.parametrize("value", ["perhaps", 2, 1.0, [], {}])
def test_neither_yes_nor_no(value: object) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        parse_boolean(value)


@pytest.mark.parametrize(
    ("text", "moment", "told"),
    [
        (" 2025-03-06T17:45:26 ", datetime(2025, 3, 6, 17, 45, 26, tzinfo=UTC), False),
        (
            "2025-03-06T17:45:26+02:00",
            datetime(2025, 3, 6, 17, 45, 26, tzinfo=timezone(timedelta(hours=2))),
            True,
        ),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: datetime, told: bool) -> None:
    assert parse_time(text) == (moment, told)


def test_other_text_is_no_time() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        parse_time("yesterday")
