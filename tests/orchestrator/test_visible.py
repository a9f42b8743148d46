"""What steers a terminal is shown, and everything else is left as it is."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.visible import visible, visible_line


@pytest.mark.parametrize(
    ("text", "line", "lines"),
    [
        ("plain", "plain", "plain"),
        ("größer → 日本 👩‍🚀", "größer → 日本 👩‍🚀", "größer → 日本 👩‍🚀"),
        ("\x1b[2Jpwn", "\\u001b[2Jpwn", "\\u001b[2Jpwn"),
        ("\x9b31m\x07\x00\x7f", "\\u009b31m\\u0007\\u0000\\u007f", None),
        ("one\r\ntwo\tend", "one\\r\\ntwo\\tend", "one\\r\ntwo\tend"),
        ("\u202egnp.exe\u2066\u2028", "\\u202egnp.exe\\u2066\\u2028", None),
    ],
)
def test_controls_are_shown(text: str, line: str, lines: str | None) -> None:
    assert visible_line(text) == line
    assert visible(text) == (line if lines is None else lines)


@given(st.text())
def test_nothing_steers(text: str) -> None:
    assert not {unicodedata.category(each) for each in visible_line(text)} & {"Cc", "Zl", "Zp"}
    assert len(visible(text).split("\n")) == len(text.split("\n"))
    assert visible(visible(text)) == visible(text)


@given(st.text())
def test_json_stays_the_same_json(text: str) -> None:
    for ascii_only in (True, False):
        told = json.dumps([text], indent=2, ensure_ascii=ascii_only)
        assert json.loads(visible(told)) == [text]
