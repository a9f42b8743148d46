"""What is wrong in a user's file or options, told with place, value and what is allowed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from orchestrator.system.text import did_you_mean
from orchestrator.system.yaml_file import Place, Source
from runner.contract.errors import MatrixError

_SHOWN = 20
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
    """One thing that is wrong."""

    path: Place
    """Where: keys and list positions from the top."""
    message: str
    """What is wrong with the value, and what is allowed."""


def one_of(value: object, allowed: Sequence[str], otherwise: str = "") -> str:
    """The sentence that refuses a value, with the nearest allowed one at its end."""
    near = did_you_mean(value, allowed)
    return f"{shown(value)} is not one of {', '.join(allowed)}{otherwise}{near}"


def shown(value: object) -> str:
    """A value as an error quotes it: one line, never longer than a line."""
    text = _YAML_WORDS.get(repr(value), repr(value))
    return text if len(text) <= 80 else f"{text[:77]}…"


def unknown_key(key: object, allowed: Iterable[str]) -> str:
    """The sentence that refuses a key."""
    allowed = list(allowed)
    return f"unknown key; allowed are {', '.join(allowed)}{did_you_mean(key, allowed)}"


def wordings(
    error: ValidationError, keys_at: Callable[[Place], Iterable[str]], base: Place = ()
) -> list[Problem]:
    """Pydantic's findings in our words.

    `keys_at` tells which keys the table at a path allows; `base` is where the validated value lies.
    """
    problems = []
    for found in error.errors(include_url=False):
        path = tuple(step for step in found["loc"] if step != "[key]")
        if found["type"] == "extra_forbidden":
            message = unknown_key(path[-1], keys_at(path[:-1]))
        else:
            message = _message(dict(found))
        problems.append(Problem((*base, *path), message))
    return problems


def refuse(source: Source, problems: Sequence[Problem], hint: str | None = None) -> None:
    """Raise all problems of a source as one error, a line each; do nothing if there are none.

    Raises:
        MatrixError: there are problems.
    """
    lines = []
    for problem in sorted(problems, key=lambda problem: source.line(problem.path))[:_SHOWN]:
        number = source.line(problem.path)
        where = f" (line {number})" if number else ""
        lines.append(f"{source.place(problem.path)}{problem.message}{where}")
    if len(problems) > _SHOWN:
        lines.append(f"… and {len(problems) - _SHOWN} more")
    if lines:
        raise MatrixError("\n".join(lines), hint=hint)


def _message(found: dict[str, object]) -> str:
    context = found.get("ctx")
    facts = context if isinstance(context, dict) else {}
    if found["type"] == "value_error":
        return str(facts["error"])
    wording = _WORDING.get(str(found["type"]))
    return wording.format(value=shown(found["input"]), **facts) if wording else str(found["msg"])
