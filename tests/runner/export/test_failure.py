"""An exporter's error becomes one line that still says why."""

from runner.export.failure import LONGEST, in_one_line


def chained(first: Exception, last: Exception) -> Exception:
    try:
        try:
            raise first
        except Exception as cause:
            raise last from cause
    except Exception as error:
        return error


def test_the_first_line_without_colours_and_programs() -> None:
    error = RuntimeError("\n\x1b[96mno way\x1b[0m to export\n\ndef forward(self, x):\n")
    assert in_one_line(error) == "RuntimeError: no way to export"


def test_what_led_to_it_is_told_too() -> None:
    error = chained(KeyError("gather"), ValueError("conversion failed"))
    assert in_one_line(error) == "ValueError: conversion failed, caused by KeyError: 'gather'"


def test_a_cause_that_says_the_same_is_told_once() -> None:
    assert in_one_line(chained(ValueError("no"), ValueError("no"))) == "ValueError: no"


def test_an_error_without_words_is_its_type() -> None:
    assert in_one_line(MemoryError()) == "MemoryError"


def test_a_long_line_is_cut() -> None:
    assert len(in_one_line(RuntimeError("x" * 10_000))) == LONGEST
