"""YAML read strictly: one plain document, whose words mean the same in YAML 1.1, 1.2 and JSON."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import yaml
from yaml.constructor import SafeConstructor

from orchestrator.system.plain_data import MOST_DEPTH, Location, clip, dotted, word_fault
from runner.contract.errors import MatrixError

_INDENT = re.compile(r"[ \t]*")
_JOINED_KEY = re.compile(r"\s*(- )?[A-Za-z_]\w*:[^\s:/\\]")
_JOINED_ITEM = re.compile(r"\s*-[A-Za-z_]")
_TWO_KEYS = re.compile(r"\s*(- )?[\w.-]+:\s+[^\"'{\[#\s][^#]*:(\s|$)")
_RESERVED = re.compile(r"\s*(- )?([\w.-]+:\s+)?(?P<mark>[@`%])")
_UNCLOSED = {"flow mapping": "{", "flow sequence": "[", "quoted scalar": "quote"}


def advise(text: str, line: int, context: str, context_line: int | None) -> str | None:
    """The fault near a line, counted from 0, where a parser gave up reading what context says."""
    lines = text.splitlines()
    near = [number for number in (line, line - 1) if 0 <= number < len(lines)]
    for number in near:
        if "\t" in (indent := _leading(lines[number])):
            fault = "begins with a tab" if indent[0] == "\t" else "has a tab before its first word"
            return f"line {number + 1} {fault}; YAML wants blanks"
    for name, mark in _UNCLOSED.items():
        if name in context and context_line is not None and context_line < line:
            return f"line {context_line + 1}: its {mark} is not closed"
    for number in near:
        if _JOINED_KEY.match(lines[number]):
            return f"line {number + 1}: a blank is missing behind the colon"
        if _JOINED_ITEM.match(lines[number]):
            return f"line {number + 1}: a blank is missing behind the dash"
    return _indent(lines[: line + 1]) or (_word(lines[near[0]], near[0] + 1) if near else None)


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


def _word(line: str, number: int) -> str | None:
    if reserved := _RESERVED.match(line):
        return f"line {number}: no value begins with {reserved['mark']}; put it in quotes"
    if _TWO_KEYS.match(line):
        return f"line {number}: two keys in one line; put a value with a colon in quotes"
    return None


def _leading(line: str) -> str:
    indent = _INDENT.match(line)
    return indent.group() if indent else ""


_TAG = "tag:yaml.org,2002:"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TRUTHS = ("true", "false")
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+", re.ASCII)
_NUMBER_LENGTH = 320
"""Most characters of a number: as many digits as the largest finite one has, and some."""


def parse_yaml(text: str, name: str) -> tuple[Any, dict[Location, int]]:
    """The data of one plain YAML document, and the line of each value; errors begin with `name`.

    Anchors and aliases are refused altogether: a matrix repeats nothing, each value keeps one
    location that errors can name, and no small file can grow into a large one. So are words
    that are one value in YAML 1.1, which the parser speaks, and another in 1.2: `1:30` is 90
    there, `010` is 8, `yes` is true and `1e3` is text.
    """
    reader = _Reader(name)
    try:
        _check_events(yaml.parse(text, Loader=_LOADER))
        node = yaml.compose(text, Loader=_LOADER)
        return None if node is None else reader.plain(node, ()), reader.lines
    except yaml.MarkedYAMLError as error:
        raise MatrixError(f"{name}: {_fault(error, text)}") from None
    except yaml.YAMLError as error:
        raise MatrixError(f"{name}: is not YAML: {str(error).splitlines()[0]}") from None
    except UnicodeEncodeError:
        raise MatrixError(f"{name}: is not Unicode text") from None


def _fault(error: Any, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    if mark and not isinstance(error, _Refused):
        begun = error.context_mark.line if error.context_mark else None
        if advice := advise(text, mark.line, error.context or "", begun):
            return advice
    line = f"line {mark.line + 1}: " if mark else ""
    return line + ", ".join(part for part in (error.context, error.problem) if part)


class _Refused(yaml.MarkedYAMLError):
    """YAML that is well formed, and refused."""


class _Reader:
    """Turns nodes into plain data, and remembers their lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.lines: dict[Location, int] = {}

    def plain(self, node: Any, location: Location) -> Any:
        self.lines.setdefault(location, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return [self.plain(item, (*location, position)) for position, item in items]
        try:
            return _scalar(node)
        except ValueError as error:
            start = f"{self._name}: {dotted(location)}: " if location else f"{self._name}: "
            line = node.start_mark.line + 1
            raise MatrixError(f"{start}{clip(node.value)} {error} (line {line})") from None

    def _mapping(self, node: Any, location: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                _refuse("a key must be plain text", key)
            if key.tag == f"{_TAG}merge":
                _refuse("the merge key << is not allowed: write the values out", key)
            if key.value in data:
                _refuse(f"the key {clip(key.value)!r} appears twice", key)
            self.lines[(*location, key.value)] = key.start_mark.line + 1
            data[key.value] = self.plain(value, (*location, key.value))
        return data


def _scalar(node: Any) -> Any:
    kind, word = node.tag.removeprefix(_TAG), node.value
    if kind == "null":
        return None
    if kind == "bool":
        value = SafeConstructor().construct_object(node)
        if word.lower() not in _TRUTHS:
            raise ValueError(f"could be text or {_TRUTHS[not value]}: {_written(word, value)}")
        return value
    if kind in {"int", "float"}:
        return _number(node, word)
    if kind == "str" and not node.style:
        _refuse_hidden_number(word)
    return word


def _number(node: Any, word: str) -> int | float:
    if len(word) > _NUMBER_LENGTH:
        raise ValueError(f"is too long for a number: it has {len(word):,} characters")
    try:
        value: int | float = SafeConstructor().construct_object(node)
    except ValueError:
        raise ValueError("is not a number") from None
    if fault := word_fault(value):
        raise ValueError(fault)
    form = _WHOLE if isinstance(value, int) else _DECIMAL
    if not form.fullmatch(word):
        raise ValueError(f"would be read as {value}: {_written(word, value)}")
    return value


def _refuse_hidden_number(word: str) -> None:
    """Refuse text that is a number in YAML 1.2, such as `1e3`, `0o10` and `08`."""
    if len(word) > _NUMBER_LENGTH:
        return
    if _OCTAL.fullmatch(word):
        raise ValueError(f"could be text or a number: {_written(word, int(word, 8))}")
    if _DECIMAL.fullmatch(word):
        number = float(word)
        value = int(number) if number.is_integer() and abs(number) < 1e15 else number
        raise ValueError(f"could be text or a number: {_written(word, value)}")


def _written(word: str, value: object) -> str:
    plain = _TRUTHS[not value] if isinstance(value, bool) else value
    return f'write {plain}, or "{clip(word)}" in quotes if it is text'


def _check_events(events: Iterable[Any]) -> None:
    """Refuse anchors, tags, deep nesting and a second document before any node is composed."""
    depth = documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                _refuse("a second document starts here", event)
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                _refuse("anchors and aliases are not allowed: write the value out", event)
            if (tag := getattr(event, "tag", None)) not in (None, "!"):
                tag = clip(tag.replace(_TAG, "!!"))
                _refuse(f"the tag {tag} is not allowed: a value is plain text or a number", event)
            if depth >= MOST_DEPTH:
                _refuse(f"nested deeper than {MOST_DEPTH} levels", event)
            depth += isinstance(event, yaml.CollectionStartEvent)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _refuse(message: str, marked: Any) -> NoReturn:
    raise _Refused(problem=message, problem_mark=marked.start_mark)
