"""Strict YAML and JSON files: plain data, and the line of each value."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.system.plain_data import Location, dotted, parse_json
from orchestrator.system.yaml_text import parse_yaml
from runner.contract.errors import DamagedFile, MatrixError, closest
from runner.contract.files import read_plain

_MAX_BYTES = 1 << 20
_ABSENT = object()


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
    hint: str | None = None
    """The command that says more about such a document."""
    options: Mapping[Location, str] = field(default_factory=dict)
    """The option that gave the value at a path, and those below it, e.g. `--precision`."""

    def locate(self, path: Location) -> str:
        """The location of a value as the start of an error: `matrix.yaml: axes.precision[2]: `."""
        for length in range(len(path), 0, -1):
            if option := self.options.get(path[:length]):
                return f"{option}: "
        written = dotted(self._written(path))
        return f"{self.name}: {written}: " if written else f"{self.name}: "

    def line(self, path: Location) -> int:
        """The line of a value, or of what holds it; 0 where unknown or given by an option."""
        heads = [path[:length] for length in range(len(path), 0, -1)]
        if any(head in self.options for head in heads):
            return 0
        return next((self.lines[head] for head in heads if head in self.lines), 0)

    def _written(self, path: Location) -> Location:
        """The path without the positions of values that stand for a list of one."""
        steps: list[str | int] = []
        value = self.data
        for step in path:
            if isinstance(step, str):
                steps.append(step)
                value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
            elif isinstance(value, list) or value is _ABSENT:
                steps.append(step)
                value = value[step] if isinstance(value, list) else _ABSENT
        return tuple(steps)


def read_source(path: Path, *, plain: bool = False) -> Source:
    """Read a `.json` file as JSON and any other as YAML.

    Args:
        path: the file.
        plain: refuse a FIFO or a device: for a path that a file names and not the user, who may
            well name a pipe.

    Raises:
        MatrixError: the file is missing, too large, no UTF-8, or not what a plain document holds.
    """
    text = document_text(path, plain=plain)
    if path.suffix != ".json":
        data, lines = parse_yaml(text, str(path))
        return Source(str(path), data, path.parent, lines)
    try:
        return Source(str(path), parse_json(text), path.parent)
    except ValueError as error:
        raise MatrixError(f"{path}: {error}") from None


def document_text(path: Path, *, plain: bool = False) -> str:
    """The text of a file that a user wrote, of at most 1 MiB.

    Raises:
        MatrixError: it is missing, too large or no UTF-8.
    """
    try:
        content = read_plain(path.resolve(), _MAX_BYTES) if plain else _beginning(path)
    except FileNotFoundError:
        whole = "" if path.is_absolute() else f"; {path.absolute()} was looked for"
        message = f"{path}: there is no such file{whole}"
        raise MatrixError(message, hint=_hint_for_missing(path)) from None
    except IsADirectoryError:
        raise MatrixError(f"{path}: is a folder, not a file") from None
    except DamagedFile as damaged:
        raise MatrixError(f"{path}: {damaged}") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise MatrixError(f"{path}: cannot be read: {error}") from None
    if len(content) > _MAX_BYTES:
        raise MatrixError(f"{path}: is larger than 1 MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MatrixError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _hint_for_missing(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names = [file.name for file in path.parent.iterdir()]
    for name in closest(path.name, names):
        return f"did you mean {path.with_name(name)}?"
    return f"name a file that is there; none in {path.parent.absolute()} has such a name"
