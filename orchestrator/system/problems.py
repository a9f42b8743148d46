"""Users' files: plain data with the line of each value, and what is wrong in them as one error."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.system.plain_data import Location, dotted, parse_json
from orchestrator.system.text import escape_control_line
from orchestrator.system.yaml_text import parse_yaml
from runner.contract.errors import DamagedFile, MatrixError, closest, refuse_key
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
    """Read a `.json` file as JSON and any other as YAML; `plain` refuses FIFOs and devices."""
    text = document_text(path, plain=plain)
    if path.suffix != ".json":
        data, lines = parse_yaml(text, str(path))
        return Source(str(path), data, path.parent, lines)
    try:
        return Source(str(path), parse_json(text), path.parent)
    except ValueError as error:
        raise MatrixError(f"{path}: {error}") from None


def document_text(path: Path, *, plain: bool = False) -> str:
    """The text of a file that a user wrote, of at most 1 MiB."""
    try:
        if plain:
            content = read_plain(path.resolve(), _MAX_BYTES, is_named=True)
        else:
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
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


def _hint_for_missing(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names = [file.name for file in path.parent.iterdir()]
    for name in closest(path.name, names):
        return f"did you mean {path.with_name(name)}?"
    return f"name a file that is there; none in {path.parent.absolute()} has such a name"


_SHOWN = 20
_LETTERS = 300
_YAML_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORDING = {
    "missing": "is required",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "string_type": "{value} is not text",
    "string_too_short": "must not be empty",
    "string_too_long": "{value} is longer than {max_length} characters",
    "string_pattern_mismatch": "{value} does not match the pattern {pattern}",
    "bool_type": "{value} is neither true nor false",
    "bool_parsing": "{value} is neither true nor false",
    "int_type": "{value} is not a whole number",
    "int_from_float": "{value} is not a whole number",
    "int_parsing": "{value} is not a whole number",
    "float_type": "{value} is not a number",
    "finite_number": "{value} is not a finite number",
    "greater_than": "{value} is not above {gt}",
    "greater_than_equal": "{value} is less than {ge}",
    "less_than_equal": "{value} is more than {le}",
    "literal_error": "{value} is not {expected}",
}


@dataclass(frozen=True)
class Problem:
    """One wrong value."""

    path: Location
    """Keys and list positions from the top."""
    message: str


def quote(value: object) -> str:
    text = _YAML_WORDS.get(repr(value), repr(value))
    return text if len(text) <= 80 else f"{text[:77]}…"


def problems_in(
    error: ValidationError, keys_at: Callable[[Location], Iterable[str]], base: Location = ()
) -> list[Problem]:
    """Reword pydantic's errors in the value at `base`; `keys_at` has the keys of a table."""
    problems = []
    for detail in error.errors(include_url=False):
        path = tuple(step for step in detail["loc"] if step != "[key]")
        if detail["type"] == "extra_forbidden":
            message = refuse_key(path[-1], list(keys_at(path[:-1])))
        else:
            message = _message(dict(detail))
        problems.append(Problem((*base, *path), message))
    return problems


def raise_problems(source: Source, problems: Sequence[Problem], hint: str | None = None) -> None:
    """Raise all problems of a source as one error, a line each; do nothing if there are none."""
    lines = []
    for problem in sorted(problems, key=lambda problem: source.line(problem.path))[:_SHOWN]:
        number = source.line(problem.path)
        line = f" (line {number})" if number else ""
        lines.append(f"{source.locate(problem.path)}{problem.message}{line}")
    if len(problems) > _SHOWN:
        lines.append(f"… and {len(problems) - _SHOWN} more")
    if lines:
        raise MatrixError("\n".join(lines), hint=hint)


def first_fault(error: ValidationError) -> str:
    """The first fault of a file that a program wrote: its place and what is wrong, in a line."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    location = ".".join(map(str, fault["loc"]))
    return escape_control_line(": ".join(filter(None, (location, fault["msg"]))))[:_LETTERS]


def _message(detail: dict[str, object]) -> str:
    context = detail.get("ctx")
    facts = context if isinstance(context, dict) else {}
    if detail["type"] == "value_error":
        return str(facts["error"])
    wording = _WORDING.get(str(detail["type"]))
    return wording.format(value=quote(detail["input"]), **facts) if wording else str(detail["msg"])
