"""Places in a file as JSON pointers."""

from orchestrator.imports.pointer import WHOLE, last, under


def test_a_place_below_the_whole_and_below_another() -> None:
    assert under(WHOLE, "results", 0) == "/results/0"
    assert under("/results", "google/t5", "a~b") == "/results/google~1t5/a~0b"


def test_its_last_key_is_told_as_the_file_writes_it() -> None:
    assert last("/results/google~1t5") == "google/t5"
    assert last("/results/a~0b") == "a~b"
