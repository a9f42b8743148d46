"""Suggestions for misspelt words, and reasons that errors carry."""

import pytest

from runner.contract.errors import how_to_install, suggest

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


@pytest.mark.parametrize(
    ("extra", "in_checkout", "command"),
    [
        ("cpu", True, "`make cpu`"),
        ("analysis", True, "`make install`"),
        ("cpu", False, "`pip install 'accelmatrix[cpu]'`"),
        (
            "browser",
            False,
            "`pip install 'accelmatrix[browser]'`, then"
            " `python -m runner.backends.onnxruntime_web.install`",
        ),
    ],
)
def test_a_checkout_has_make_and_a_wheel_pip(extra: str, in_checkout: bool, command: str) -> None:
    assert how_to_install(extra, in_checkout=in_checkout) == command
