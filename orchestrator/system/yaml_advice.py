"""Advice on a text that is no YAML, in the words of somebody who wrote it."""

import re
from collections.abc import Sequence
from itertools import pairwise

_INDENT = re.compile(r"[ \t]*")
_JOINED_KEY = re.compile(r"\s*(- )?[A-Za-z_]\w*:[^\s:/\\]")
_JOINED_ITEM = re.compile(r"\s*-[A-Za-z_]")
_TWO_KEYS = re.compile(r"\s*(- )?[\w.-]+:\s+[^\"'{\[#\s][^#]*:(\s|$)")
_RESERVED = re.compile(r"\s*(- )?([\w.-]+:\s+)?(?P<mark>[@`%])")
_UNCLOSED = {"flow mapping": "{", "flow sequence": "[", "quoted scalar": "quote"}


def advise(text: str, line: int, context: str, context_line: int | None) -> str | None:
    """The fault near a line, counted from 0, where a parser gave up; None if nothing is known.

    Args:
        text: the whole document.
        line: the line at which the parser stopped.
        context: what it was reading, in its own words.
        context_line: where that began, if it is known.
    """
    lines = text.splitlines()
    near = [number for number in (line, line - 1) if 0 <= number < len(lines)]
    return (
        _tab(lines, near)
        or _unclosed(context, context_line, line)
        or _joined(lines, near)
        or _indent(lines[: line + 1])
        or _word(lines, near[:1])
    )


def _tab(lines: Sequence[str], near: Sequence[int]) -> str | None:
    for number in near:
        indent = _leading(lines[number])
        if "\t" in indent:
            fault = "begins with a tab" if indent[0] == "\t" else "has a tab before its first word"
            return f"line {number + 1} {fault}; YAML wants blanks"
    return None


def _unclosed(context: str, begun: int | None, line: int) -> str | None:
    for name, mark in _UNCLOSED.items():
        if name in context and begun is not None and begun < line:
            return f"line {begun + 1}: its {mark} is not closed"
    return None


def _joined(lines: Sequence[str], near: Sequence[int]) -> str | None:
    for number in near:
        if _JOINED_KEY.match(lines[number]):
            return f"line {number + 1}: a blank is missing behind the colon"
        if _JOINED_ITEM.match(lines[number]):
            return f"line {number + 1}: a blank is missing behind the dash"
    return None


def _indent(lines: Sequence[str]) -> str | None:
    """The last line, if it stands below none of the lines that it could belong to."""
    written = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(written) < 2 or written[-1][0] != len(lines):
        return None
    (above, before), (number, last) = next(reversed(list(pairwise(written))))
    own, other = len(_leading(last)), len(_leading(before))
    opens = before.rstrip().endswith(":")
    known = {len(_leading(line)) for _, line in written[:-1]}
    if own == other or (own > other and opens) or (own < other and own in known):
        return None
    return (
        f"line {number} is indented by {own}, line {above} by {other}: "
        "keys of one table stand below each other"
    )


def _word(lines: Sequence[str], near: Sequence[int]) -> str | None:
    for number in near:
        if reserved := _RESERVED.match(lines[number]):
            return f"line {number + 1}: no value begins with {reserved['mark']}; put it in quotes"
        if _TWO_KEYS.match(lines[number]):
            return f"line {number + 1}: two keys in one line; put a value with a colon in quotes"
    return None


def _leading(line: str) -> str:
    indent = _INDENT.match(line)
    return indent.group() if indent else ""
