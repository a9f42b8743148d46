"""Refusals of words on the command line: what is wrong, and what would not be."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from typer import TyperException

from analysis.results.synonyms import axis_of
from runner.contract.errors import UsageError, closest

_OF_MATRIX = frozenset({"run", "plan"})
"""Commands whose axes stand in a file."""
_PATHS: Mapping[str, str] = {
    "cell-timeout": "limits.cell_timeout",
    "iterations": "measure.iterations",
    "memory": "limits.memory",
}
"""The places in a file of what `bench` has other options for."""
_FILES = (".yaml", ".yml", ".json")


def usage_error(error: TyperException, words: Sequence[str]) -> UsageError:
    """The error that says what is wrong with the words of a command line, and what would not be."""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else _path(words)
    option = getattr(error, "option_name", None)
    if hasattr(error, "possibilities"):
        return _no_option(str(option), error, path)
    if option is not None:
        has_value = any(word.startswith(f"{option}=") for word in words)
        fault = "takes no value" if has_value else "requires an argument"
        return UsageError(f"{option}: {fault}", hint=_help(path))
    if type(error).__name__ == "MissingParameter":
        return _missing(error, context, path)
    if hasattr(error, "param_hint"):
        name = _name(error)
        return UsageError(f"{name}: {error.message}" if name else error.message, hint=_help(path))
    return UsageError(f"{path}: {error.message[:1].lower()}{error.message[1:]}", hint=_help(path))


def _path(words: Sequence[str]) -> str:
    """The command that words begin with, as far as that can be told."""
    command = next((word for word in words if not word.startswith("-")), "")
    return f"orchestrator {command}".rstrip()


def _command(path: str) -> str:
    return path.rpartition(" ")[2]


def _help(path: str) -> str:
    return f"`{path} --help` shows what it takes"


def _no_option(option: str, error: Any, path: str) -> UsageError:
    axis = axis_of(option.lstrip("-"))
    path_in_file = f"axes.{axis.name}" if axis else _PATHS.get(option.lstrip("-"))
    if path_in_file and _command(path) in _OF_MATRIX:
        return UsageError(
            f"{path}: no option {option}; did you mean --set {path_in_file}=…?",
            hint="the matrix file says so, and --set changes it",
        )
    if option == "--resume" and _command(path) == "bench":
        return UsageError(
            f"{path}: no option {option}; did you mean `orchestrator run {option} RUN_ID`?",
            hint="a run goes on with the options it began with, also one of `bench`",
        )
    names = [name.lstrip("-") for name in error.possibilities or ()]
    guess = "".join(f"; did you mean --{near}?" for near in closest(option.lstrip("-"), names))
    return UsageError(f"{path}: no option {option}{guess}", hint=_help(path))


def _missing(error: Any, context: Any, path: str) -> UsageError:
    usage = " ".join(context.get_usage().split()).partition(" ")[2]
    plain = re.sub(r"[{}]|\.{3}$", "", usage)
    return UsageError(f"{path}: {_name(error)} is missing", hint=f"write `{plain}`")


def _name(error: Any) -> str:
    """The option or argument at fault, as help calls it; empty where the error names none."""
    parameter = error.param
    if error.param_hint or parameter is None:
        return str(error.param_hint or "")
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    name = str(parameter.metavar or parameter.name)
    return parameter.name.upper() if "|" in name else name


def blank_in_list(words: Sequence[str], path: str) -> UsageError | None:
    """The refusal of a list whose values blanks part; None if there is none."""
    option = path
    for first, second in pairwise(words):
        option = first if first.startswith("-") else option
        if (first.endswith(",") or second.startswith(",")) and not second.startswith("-"):
            return UsageError(
                f"{option} {first} {second}: no blanks: {first}{second}",
                hint="commas join the values of a list, and a blank ends it",
            )
    return None


def extra_words(extra: Sequence[str], words: Sequence[str], path: str) -> UsageError:
    """The refusal of words that no argument takes; values of a list may be among them."""
    if (parted := blank_in_list(words, path)) is not None:
        return parted
    for option, first, second in zip(words, words[1:], words[2:], strict=False):
        if second == extra[0] and axis_of(option.lstrip("-")):
            return UsageError(
                f"{option} {first} {second}: a comma joins the values: {first},{second}",
                hint=_help(path),
            )
    guess = ""
    if _command(path) == "bench":
        meant = f"`orchestrator run {extra[0]}`" if extra[0].endswith(_FILES) else None
        guess = f"; did you mean {meant or f'--model {extra[0]}'}?"
    return UsageError(f"{path}: unexpected {' '.join(extra)!r}{guess}", hint=_help(path))
