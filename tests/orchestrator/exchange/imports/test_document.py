"""Files are found in order, and a document answers what it parses to, whatever it holds."""

import os
from pathlib import Path

import pytest

from orchestrator.exchange.imports.document import (
    TOP,
    Document,
    files_in,
    last_key,
    link_to,
    pointer,
)
from runner.contract.errors import UsageError
from tests.orchestrator.exchange.imports.documents import json_document, text_document
from tests.orchestrator.exchange.imports.files import write


def test_json_is_parsed_and_says_what_keeps_it_from_it() -> None:
    assert json_document({"a": [1, None]}).json == {"a": [1, None]}
    cut = text_document('{"a": [1,\n')
    assert cut.json is None
    assert cut.json_fault == "not JSON: Expecting value (line 2, column 1)"


def test_numbers_and_depths_that_python_refuses_are_told() -> None:
    giant = text_document("9" * 5000)
    assert giant.json is None
    assert giant.json_fault is not None
    assert giant.json_fault.startswith("not JSON that can be read: Exceeds the limit")
    deep = text_document("[" * 100_000)
    assert deep.json is None
    assert deep.json_fault == "not JSON that can be read: it is nested too deeply"


def test_a_name_that_stands_twice_must_mean_the_same() -> None:
    assert text_document('{"a": 1, "b": 2, "a": 1}').json == {"a": 1, "b": 2}
    contradiction = text_document('[{"model": "m", "ms": 1, "ms": 2}]')
    assert contradiction.json is None
    assert contradiction.json_fault == (
        "not JSON that can be read: 'ms' appears twice in one object, with different values"
    )


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
