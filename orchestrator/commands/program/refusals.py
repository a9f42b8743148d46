"""Refusals of words on the command line: typer's errors, and options that do not go together."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import typer
from typer import TyperException

from runner.contract.errors import UsageError, closest, refuse_unknown
from runner.contract.synonyms import axis_of

_VALUE_ERROR = "Value error, "
"""Pydantic's words before ours where typer lets it check a value."""
_QUOTED = re.compile(r"'([^']*)'")
_NOT_ONE_OF = " is not one of "
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
        fault = "takes no value" if "does not take" in error.message else "requires an argument"
        return UsageError(f"{option}: {fault}", hint=_help(path))
    if type(error).__name__ == "MissingParameter":
        return _missing(error, context, path)
    if hasattr(error, "param_hint"):
        return _bad_value(error, words, path)
    if error.message.startswith("Got unexpected extra argument"):
        return _extra(error.message, words, path)
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


def _bad_value(error: Any, words: Sequence[str], path: str) -> UsageError:
    name, message = _name(error), error.message.replace(_VALUE_ERROR, "", 1)
    value, separator, allowed = message.partition(_NOT_ONE_OF)
    if separator and (listed := _QUOTED.findall(allowed)):
        message = refuse_unknown(value.strip("'"), listed)
    elif message.startswith("Input should be a valid integer"):
        message = f"{_value_of(name, words)!r} is not a whole number"
    return UsageError(f"{name}: {message}" if name else message, hint=_help(path))


def _name(error: Any) -> str:
    """The option or argument at fault, as help calls it; empty where the error names none."""
    parameter = error.param
    if error.param_hint or parameter is None:
        return str(error.param_hint or "")
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    name = str(parameter.display_name_raw)
    return parameter.name.upper() if "|" in name else name


def _value_of(option: str, words: Sequence[str]) -> str:
    """The last value that words give this option."""
    values = [second for first, second in pairwise(words) if first == option]
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return next(reversed([*values, *joined]), "")


def _extra(message: str, words: Sequence[str], path: str) -> UsageError:
    """The refusal of words that no argument takes; values of a list may be among them."""
    option = path
    for first, second in pairwise(words):
        option = first if first.startswith("-") else option
        if (first.endswith(",") or second.startswith(",")) and not second.startswith("-"):
            return UsageError(
                f"{option} {first} {second}: no blanks: {first}{second}",
                hint="commas join the values of a list, and a blank ends it",
            )
    extra = message.partition("(s) (")[2].removesuffix(")")
    for option, first, second in zip(words, words[1:], words[2:], strict=False):
        if second == extra and axis_of(option.lstrip("-")):
            return UsageError(
                f"{option} {first} {second}: a comma joins the values: {first},{second}",
                hint=_help(path),
            )
    guess = ""
    if _command(path) == "bench":
        meant = f"`orchestrator run {extra}`" if extra.endswith(_FILES) else f"--model {extra}"
        guess = f"; did you mean {meant}?"
    return UsageError(f"{path}: unexpected {extra!r}{guess}", hint=_help(path))


def refuse_beside(context: typer.Context, other: str, names: Collection[str]) -> None:
    """Refuse parameters of these names, which cannot be combined with that.

    Raises:
        UsageError: one of them was given.
    """
    for name, parameter in _given(context).items():
        if parameter in names:
            message = f"{name}: cannot be combined with {other}"
            raise UsageError(message, hint="leave one of them out")


def refuse_all_but(context: typer.Context, mode: str, names: Collection[str]) -> None:
    """Refuse parameters of other names, which a mode of a command does not use.

    Raises:
        UsageError: one of them was given.
    """
    names = {*names, *(p.name for p in context.command.params if mode in p.opts)}
    others = {p.name for p in context.command.params} - names
    refuse_beside(context, mode, {name for name in others if name})


def refuse_without(context: typer.Context, mode: str, names: Collection[str]) -> None:
    """Refuse parameters of these names unless the option that they belong to was given.

    Raises:
        UsageError: one of them was given alone.
    """
    given = _given(context)
    for name, parameter in given.items():
        if parameter in names and mode not in given:
            raise UsageError(f"{name} needs {mode}", hint=f"add {mode}, or leave {name} out")


def _given(context: typer.Context) -> dict[str, str]:
    """The parameters on the command line: the names that the user sees, and our own."""
    given = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            flag = parameter.opts[0]
            given[flag if flag[0] == "-" else str(parameter.metavar)] = str(parameter.name)
    return given
