"""Suggestions for misspelt words, and reasons that errors carry."""

import pytest

from runner.contract.errors import suggest

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
