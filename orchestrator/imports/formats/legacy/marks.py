"""Marks with which a file says that no device made its numbers."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from orchestrator.imports.formats.legacy.pointer import under
from orchestrator.matrix.problems import shown

_WORDS = r"mock(?:ed|ing)?|simulat(?:e|ed|ing|ion|or)|emulat(?:ed|ion)"
_IN_TEXT = re.compile(rf"(?<!not )(?<!no )(?<!non-)(?<![A-Za-z_])(?:{_WORDS})(?![A-Za-z_])", re.I)
_IN_KEY = re.compile(rf"(?:^|_)(?:{_WORDS})(?:$|_)", re.I)
_DENIED = ("", "false", "no", "0", "none", "null")
_SAID_IN = ("input", "prompt", "command", "test_prompt", "test_text")
_KEY_IN_TEXT = rf"\w*(?:{_WORDS})\w*[\"']?\s*[:=]\s*"
_DENIED_IN_TEXT = re.compile(rf"{_KEY_IN_TEXT}(?:false|none|null|0)\b", re.I)
_SAID_IN_TEXT = re.compile(rf"{_KEY_IN_TEXT}true\b", re.I)


def marks_in(value: Any, place: str, without: Collection[str] = ()) -> tuple[str, ...]:
    """Each mark in a value with its place; keys named in `without` are left out."""
    if isinstance(value, dict) and without:
        value = {key: item for key, item in value.items() if key not in without}
    return tuple(_walk(value, place, marked=False))


def _walk(value: Any, place: str, *, marked: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if not key.startswith(_SAID_IN):
                yield from _walk(item, under(place, key), marked=bool(_IN_KEY.search(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, under(place, index), marked=False)
    elif isinstance(value, str):
        yield from _in_text(value, place, marked=marked)
    elif marked and value:
        yield f"{place}: {str(value).lower()}"


def _in_text(text: str, place: str, *, marked: bool) -> Iterator[str]:
    if marked:
        if text.strip().lower() not in _DENIED:
            yield f"{place}: {shown(text)}"
        return
    for line in text.splitlines():
        rest = _DENIED_IN_TEXT.sub("", line)
        if _IN_TEXT.search(rest) or _SAID_IN_TEXT.search(rest):
            yield f"{place}: {shown(line.strip())}"
            return
