"""Suggestions for misspelt words, and reasons that errors carry."""

import pytest

from runner.contract.errors import DamagedFile, MatrixError, UsageError, closest, suggest

NAMES = ("mode", "model", "batch_size", "fp16", "fp32", "cpu", "webgpu")


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("fp17", "; did you mean fp16?"),
        ("modle", "; did you mean model?"),
        ("mod", "; did you mean mode?"),
        ("gpu", "; did you mean webgpu?"),
        ("zebra", ""),
        (17, ""),
        ("x" * 10_000, ""),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(word: object, suggestion: str) -> None:
    assert suggest(word, NAMES) == suggestion


def test_several_suggestions_begin_with_the_closest() -> None:
    assert closest("modle", NAMES, count=2) == ["model", "mode"]


def test_an_unknown_word_is_refused_with_a_suggestion() -> None:
    error = UsageError.unknown("modle", NAMES, "there is no axis 'modle'", hint="see docs")
    assert str(error) == "there is no axis 'modle'; did you mean model?"
    assert (error.hint, error.exit_code) == ("see docs", 2)
    assert isinstance(MatrixError.unknown("a", (), "no"), UsageError)


def test_a_damaged_file_keeps_each_reason() -> None:
    error = DamagedFile("truncated", "no header")
    assert (str(error), error.reasons) == ("truncated; no header", ("truncated", "no header"))
