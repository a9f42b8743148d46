"""Strict YAML and JSON files: plain data, and the line of each value."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.constructor import SafeConstructor

from runner.contract.errors import MatrixError, closest

_MAX_BYTES = 1 << 20
_MAX_DEPTH = 20
_ABSENT = object()
_CONVERTED = frozenset(f"tag:yaml.org,2002:{tag}" for tag in ("null", "bool", "int", "float"))
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Location = tuple[str | int, ...]
"""Keys and list positions from the top of a document."""


@dataclass(frozen=True)
class Source:
    """Plain data with a name for errors, and the location of each of its values."""

    name: str
    """Name of the document in errors: the file as the user named it."""
    data: Any
    """Dicts with text keys, lists, text, numbers, booleans and None."""
    folder: Path = Path()
    """Folder that paths in the data are relative to."""
    lines: Mapping[Location, int] = field(default_factory=dict)
    """The line of each value, counted from 1; empty where unknown."""
    options: Mapping[Location, str] = field(default_factory=dict)
    """The option that gave the value at a path, and those below it, e.g. `--precision`."""

    def locate(self, path: Location) -> str:
        """The location of a value as the start of an error: `matrix.yaml: axes.precision[2]: `."""
        for length in range(len(path), 0, -1):
            if option := self.options.get(path[:length]):
                return f"{option}: "
        dotted = self._dotted(path)
        return f"{self.name}: {dotted}: " if dotted else f"{self.name}: "

    def line(self, path: Location) -> int:
        """The line of a value, or of what holds it; 0 where unknown or given by an option."""
        heads = [path[:length] for length in range(len(path), 0, -1)]
        if any(head in self.options for head in heads):
            return 0
        return next((self.lines[head] for head in heads if head in self.lines), 0)

    def _dotted(self, path: Location) -> str:
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


def parse_yaml(text: str, name: str) -> tuple[Any, dict[Location, int]]:
    """The data of one YAML document, and the line of each of its values.

    Anchors and aliases are refused altogether: a matrix repeats nothing, each value keeps one
    location that errors can name, and no small file can grow into a large one.

    Raises:
        MatrixError: not one plain YAML document; the message starts with `name`.
    """
    lines: dict[Location, int] = {}
    try:
        _check_events(yaml.parse(text, Loader=_LOADER))
        node = yaml.compose(text, Loader=_LOADER)
        return None if node is None else _plain(node, (), lines), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        message = ", ".join(part for part in (error.context, error.problem) if part)
        raise MatrixError(f"{name}: {line}{message}") from None
    except yaml.YAMLError as error:
        raise MatrixError(f"{name}: is not YAML: {str(error).splitlines()[0]}") from None


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
            _check_tag(event)
            if depth >= _MAX_DEPTH:
                _refuse(f"nested deeper than {_MAX_DEPTH} levels", event)
            depth += isinstance(event, yaml.CollectionStartEvent)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_tag(event: Any) -> None:
    if event.tag not in (None, "!"):
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        _refuse(f"the tag {tag} is not allowed: a value is plain text or a number", event)


def _plain(node: Any, location: Location, lines: dict[Location, int]) -> Any:
    """A node as plain data; fills `lines`."""
    lines.setdefault(location, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, location, lines)
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(item, (*location, position), lines) for position, item in enumerate(node.value)
        ]
    if node.tag not in _CONVERTED:
        return node.value
    try:
        return SafeConstructor().construct_object(node)
    except ValueError as error:
        _refuse(f"not a value: {error}", node)


def _mapping(node: Any, location: Location, lines: dict[Location, int]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            _refuse("a key must be plain text", key)
        if key.value in data:
            _refuse(f"the key {key.value!r} appears twice", key)
        lines[(*location, key.value)] = key.start_mark.line + 1
        data[key.value] = _plain(value, (*location, key.value), lines)
    return data


def _refuse(message: str, marked: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=message, problem_mark=marked.start_mark)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise MatrixError(f"{path}: there is no such file", hint=_hint_for_missing(path)) from None
    except IsADirectoryError:
        raise MatrixError(f"{path}: is a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise MatrixError(f"{path}: cannot be read: {error}") from None
    if len(content) > _MAX_BYTES:
        raise MatrixError(f"{path}: is larger than 1 MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MatrixError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _hint_for_missing(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names = [file.name for file in path.parent.iterdir()]
    for name in closest(path.name, names):
        return f"did you mean {path.with_name(name)}?"
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
        raise ValueError(f"the key {twice!r} appears twice")
    return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
