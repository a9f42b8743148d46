"""A document answers what it parses to, whatever it holds."""

from pathlib import Path

from orchestrator.imports.document import TOP, Document, last_key, pointer
from tests.orchestrator.imports.documents import json_document, text_document


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
        "not JSON that can be read: 'ms' stands twice in one object, with different values"
    )


def test_the_header_is_the_first_line_s_fields() -> None:
    assert text_document('\ufeffmodel,"a,b", c \r\n1,2,3\r\n').header == ("model", "a,b", "c")
    assert text_document("").header == ()
    assert text_document("x" * 200_000).header == ()


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
