"""Reads YAML and JSON strictly into plain data, and knows where each value stood."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from orchestrator.system.text import nearest
from runner.contract.errors import MatrixError

MAX_BYTES = 1 << 20
MAX_DEPTH = 20
_ABSENT = object()
_CONVERTED = frozenset(f"tag:yaml.org,2002:{tag}" for tag in ("null", "bool", "int", "float"))
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Place = tuple[str | int, ...]
"""Keys and list positions from the top of a document."""


@dataclass(frozen=True)
class Source:
    """Plain data with a name for errors, and the place of each of its values."""

    name: str
    """What errors call the document: the file as the user named it."""
    data: Any
    """Dicts with text keys, lists, text, numbers, booleans and None."""
    folder: Path = Path()
    """What paths in the data are relative to."""
    lines: Mapping[Place, int] = field(default_factory=dict)
    """The line of each value, counted from 1; empty where unknown."""
    options: Mapping[Place, str] = field(default_factory=dict)
    """The option that gave the value at a path, and those below it, e.g. `--precision`."""

    def place(self, path: Place) -> str:
        """Where a value stands, as the start of an error: `matrix.yaml: axes.precision[2]: `."""
        for length in range(len(path), 0, -1):
            if option := self.options.get(path[:length]):
                return f"{option}: "
        dotted = self._dotted(path)
        return f"{self.name}: {dotted}: " if dotted else f"{self.name}: "

    def line(self, path: Place) -> int:
        """The line of a value, or of what holds it; 0 where unknown or given by an option."""
        heads = [path[:length] for length in range(len(path), 0, -1)]
        if any(head in self.options for head in heads):
            return 0
        return next((self.lines[head] for head in heads if head in self.lines), 0)

    def _dotted(self, path: Place) -> str:
        text, value = "", self.data
        for step in path:
            if isinstance(step, str):
                text += f".{step}" if text else step
                value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
            elif isinstance(value, list) or value is _ABSENT:
                text += f"[{step}]"
                value = value[step] if isinstance(value, list) else _ABSENT
        return text


def read_source(path: Path) -> Source:
    """Read a `.json` file as JSON and any other as YAML.

    Raises:
        MatrixError: the file is missing, too large, no UTF-8, or not what a plain document holds.
    """
    text = _read_text(path)
    if path.suffix == ".json":
        return Source(str(path), _parse_json(text, str(path)), path.parent)
    data, lines = parse_yaml(text, str(path))
    return Source(str(path), data, path.parent, lines)


def parse_yaml(text: str, name: str) -> tuple[Any, dict[Place, int]]:
    """The data of one YAML document, and the line of each of its values.

    Anchors and aliases are refused altogether: a matrix repeats nothing, each value keeps one
    place that errors can name, and no small file can grow into a large one.

    Raises:
        MatrixError: not one plain YAML document; the message starts with `name`.
    """
    reader = _Reader(text)
    try:
        return reader.document(), reader.lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise MatrixError(f"{name}: {where}{what}") from None
    except yaml.YAMLError as error:
        raise MatrixError(f"{name}: is not YAML: {str(error).splitlines()[0]}") from None


class _Reader:
    """Builds plain data straight from the parser's events; never anything but plain data."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self._events: Iterator[Any] = yaml.parse(text, Loader=_PARSER)
        self._scalars = yaml.SafeLoader("")

    def document(self) -> Any:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        data = self._value(next(self._events), ())
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            _refuse("a second document starts here", after)
        return data

    def _value(self, event: Any, place: Place) -> Any:
        _check(event, place)
        self.lines.setdefault(place, event.start_mark.line + 1)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place)
        if isinstance(event, yaml.SequenceStartEvent):
            inner = enumerate(self._until(yaml.SequenceEndEvent))
            return [self._value(item, (*place, position)) for position, item in inner]
        return self._scalar(event)

    def _mapping(self, place: Place) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for event in self._until(yaml.MappingEndEvent):
            _check(event, place)
            key = getattr(event, "value", None)
            if key is None:
                _refuse("a key must be plain text", event)
            if key in data:
                _refuse(f"the key {key!r} stands twice", event)
            self.lines[(*place, key)] = event.start_mark.line + 1
            data[key] = self._value(next(self._events), (*place, key))
        return data

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _scalar(self, event: Any) -> Any:
        kind, text = yaml.ScalarNode, event.value
        tag = self._scalars.resolve(kind, text, event.implicit)  # type: ignore[no-untyped-call]
        if tag not in _CONVERTED:
            return text
        try:
            return self._scalars.construct_object(kind(tag, text))
        except ValueError as error:
            _refuse(f"not a value: {error}", event)


def _check(event: Any, place: Place) -> None:
    if event.anchor is not None:
        _refuse("anchors and aliases are not allowed: write the value out", event)
    if event.tag not in (None, "!"):
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        _refuse(f"the tag {tag} is not allowed: a value is plain text or a number", event)
    if len(place) >= MAX_DEPTH:
        _refuse(f"nested deeper than {MAX_DEPTH} levels", event)


def _refuse(message: str, event: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise MatrixError(f"{path}: there is no such file", hint=_instead_of(path)) from None
    except IsADirectoryError:
        raise MatrixError(f"{path}: is a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise MatrixError(f"{path}: cannot be read: {error}") from None
    if len(content) > MAX_BYTES:
        raise MatrixError(f"{path}: is larger than 1 MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MatrixError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _instead_of(path: Path) -> str:
    """What may have been meant: a file beside it with a name like that."""
    beside: list[str] = []
    with suppress(OSError):
        beside = [each.name for each in path.parent.iterdir()]
    if near := nearest(path.name, beside):
        return f"did you mean {path.with_name(near)}?"
    return f"name a file that is there; {path.parent.absolute()} is where it was looked for"


def _parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise MatrixError(f"{name}: line {error.lineno}: is not JSON: {error.msg}") from None
    except ValueError as error:
        raise MatrixError(f"{name}: {error}") from None
    except RecursionError:
        raise MatrixError(f"{name}: nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
