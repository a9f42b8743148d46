"""Problems in a user's file or options: location, value and what is allowed, as one error."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from orchestrator.system.plain_data import Location
from orchestrator.system.text import escape_control_line
from orchestrator.system.yaml_file import Source
from runner.contract.errors import MatrixError, refuse_key, refuse_unknown

_SHOWN = 20
_LETTERS = 300
"""Letters of a reason."""
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
    """The fault, and what is allowed."""


def not_one_of(value: object, allowed: Sequence[str], otherwise: str = "") -> str:
    """The sentence that refuses a value."""
    return refuse_unknown(value, allowed, otherwise)


def quote(value: object) -> str:
    """Quote a value in an error: at most 80 characters, without line breaks."""
    text = _YAML_WORDS.get(repr(value), repr(value))
    return text if len(text) <= 80 else f"{text[:77]}…"


def unknown_key(key: object, allowed: Iterable[str]) -> str:
    """The sentence that refuses a key."""
    return refuse_key(key, list(allowed))


def problems_in(
    error: ValidationError, keys_at: Callable[[Location], Iterable[str]], base: Location = ()
) -> list[Problem]:
    """Reword pydantic's errors.

    `keys_at` returns the keys that the table at a path allows; `base` is the location of the
    validated value.
    """
    problems = []
    for detail in error.errors(include_url=False):
        path = tuple(step for step in detail["loc"] if step != "[key]")
        if detail["type"] == "extra_forbidden":
            message = unknown_key(path[-1], keys_at(path[:-1]))
        else:
            message = _message(dict(detail))
        problems.append(Problem((*base, *path), message))
    return problems


def raise_problems(source: Source, problems: Sequence[Problem], hint: str | None = None) -> None:
    """Raise all problems of a source as one error, a line each; do nothing if there are none.

    Raises:
        MatrixError: there are problems.
    """
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
