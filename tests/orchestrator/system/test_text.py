"""Durations, sizes and shares: what people write, and that it survives a round trip."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.system.text import (
    escape_control,
    escape_control_line,
    format_duration,
    parse_duration,
    parse_share,
    parse_size,
    split_list,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("1d2h3m4.5s", 93784.5), (" 2h ", 7200), (90, 90), (1.5, 1.5)],
)
def test_reads_durations(text: object, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "1x", "1m1h", "1m1m", "-1s", "1 h", "inf", "１s", "9" * 400]
)
def test_refuses_text_that_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 90s, 20m or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize("value", [True, None, [], -1, float("nan"), float("inf"), 10**400])
def test_refuses_values_that_are_no_duration(value: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(value)


@given(st.floats(0, 1e7))
def test_a_duration_survives_formatting_to_the_millisecond(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=0.0006)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5400, "1h30m"), (2.5, "2.5s"), (0, "0s"), (59.9999, "1m"), (86400, "24h")],
)
def test_writes_durations_briefly(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GiB", 8 << 30), ("1.5 kib", 1536), ("1TiB", 1 << 40), ("4096", 4096), (4096, 4096)],
)
def test_reads_sizes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "8 G", "8XiB", "-1MB", "0", 0, "0.1B", True, None, {}, "9" * 400 + "TB"]
)
def test_refuses_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size such as 8GiB"):
        parse_size(text)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for parse in (parse_duration, parse_size):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert "is not a" in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("text", "share"),
    [("2%", 0.02), (" 0.5 % ", 0.005), ("100%", 1), ("0.02", 0.02), (0.02, 0.02), (1, 1)],
)
def test_reads_shares(text: object, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize(
    "value", ["", "%", "2 percent", "-2%", "0%", "101%", "2%%", 0, 2, -1, True, None, [], 1e400]
)
def test_refuses_what_is_no_share(value: object) -> None:
    with pytest.raises(ValueError, match="is not a share above 0 and up to 1, such as 2% or"):
        parse_share(value)


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
    assert escape_control_line(text) == line
    assert escape_control(text) == (line if lines is None else lines)


@given(st.text())
def test_nothing_steers(text: str) -> None:
    assert not {unicodedata.category(each) for each in escape_control_line(text)} & {
        "Cc",
        "Zl",
        "Zp",
    }
    assert len(escape_control(text).split("\n")) == len(text.split("\n"))
    assert escape_control(escape_control(text)) == escape_control(text)


@given(st.text())
def test_json_stays_the_same_json(text: str) -> None:
    for ascii_only in (True, False):
        told = json.dumps([text], indent=2, ensure_ascii=ascii_only)
        assert json.loads(escape_control(told)) == [text]


@pytest.mark.parametrize(
    ("texts", "items"),
    [
        (["a, b", "c"], ["a", "b", "c"]),
        ([""], [""]),
        (["./no,such"], ["./no", "such"]),
        ([f"{'x' * 9000},\0"], ["x" * 9000, "\0"]),
        (["~nobody-of-that-name/a,b"], ["~nobody-of-that-name/a", "b"]),
    ],
)
def test_commas_separate_values(texts: list[str], items: list[str]) -> None:
    assert split_list(texts, of_paths=True) == split_list(texts) == items
