"""Commands and groups of commands: how they read words, what they share and what they refuse."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import unwrap
from itertools import pairwise
from typing import Any, TypeVar

import typer
from typer import TyperException
from typer.core import TyperCommand, TyperGroup

from analysis.results.synonyms import axis_of
from orchestrator.commands.program.command import fields_in_help
from runner.contract.errors import UsageError, closest

_MEANT: Mapping[str, str] = {
    "--help": "h help",
    "--install-completion": "completion",
    "--version": "version",
    "bench": "benchmark measure",
    "browser": "serve",
    "compare": "diff",
    "database check": "check validate",
    "database compact": "compact",
    "database drop": "clean delete drop",
    "database rebuild": "rebuild upgrade",
    "database restore": "restore",
    "database snapshot": "backup snapshot",
    "database vacuum": "vacuum",
    "doctor": "info install setup",
    "images": "image",
    "images build": "build",
    "images prune": "prune",
    "images pull": "pull",
    "images push": "push",
    "models": "model",
    "models list": "catalogue list ls",
    "models show": "show",
    "plan": "dry-run",
    "query": "analyze history select sql",
    "report": "visualize visualise plot",
    "run": "start",
    "run --resume last": "continue resume",
    "status": "results",
    "verify": "test",
}
"""By a command, the words that other tools have for it."""
_GUESSES = {word: command for command, words in _MEANT.items() for word in words.split()}
_OF_MATRIX = frozenset({"run", "plan"})
"""Commands whose axes stand in a file."""
_PATHS: Mapping[str, str] = {
    "cell-timeout": "limits.cell_timeout",
    "iterations": "measure.iterations",
    "memory": "limits.memory",
    "device": "axes.backend",
    "hardware": "axes.backend",
    "gpu": "axes.backend",
}
"""The places in a file of what `bench` has other options for."""
_ON_A_DEVICE = ("device", "hardware", "backend")
_OPTIONS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("device", "hardware", "gpu", "accelerator"), _ON_A_DEVICE),
    "compare-hardware": ("by hardware",),
    "compare-backend": ("by backend",),
}
"""Options by words that are not alike; a command has the first that is its own."""
_FILES = (".yaml", ".yml", ".json")
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass
class Global:
    """Options that stand before the command or behind it."""

    quiet: bool = False
    debug: bool = False


chosen = Global()
"""Options of this invocation; the error boundary needs them when no context is left."""


def known_name(name: str) -> str:
    """The name by which an option is known: with `-` for `_`, an axis by its key."""
    axis = axis_of(name)
    return (axis.name if axis else name).replace("_", "-")


READING: Mapping[str, Any] = {
    "help_option_names": ["--help", "-h"],
    "token_normalize_func": known_name,
}
"""The settings by which every command reads its words."""


_SHARED = frozenset({"quiet", "debug", "version"})


def _inherited(context: Any) -> list[Any]:
    """The options of the program that each of its commands takes too."""
    return [option for option in context.find_root().command.params if option.name in _SHARED]


class ProgramCommand(TyperCommand):
    """A command that takes the program's options behind its name too."""

    allow_extra_args = True  # so that what they are is known when they are refused

    def __init__(self, *arguments: Any, params: Iterable[Any] = (), **settings: Any) -> None:
        order = fields_in_help(unwrap(settings["callback"]))
        params = sorted(params, key=lambda parameter: order.index(parameter.name))
        super().__init__(*arguments, params=params, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = list(args)
        try:
            extra = super().parse_args(ctx, args)
        except UsageError as error:
            raise _blank_in_list(words, ctx.command_path) or error from None
        if extra and not ctx.resilient_parsing:
            raise _extra_words(extra, words, ctx.command_path)
        return extra

    def get_params(self, ctx: Any) -> list[Any]:
        *own, last = super().get_params(ctx)
        return [*own, *_inherited(ctx), last]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the lists of arguments and options, arguments without the names of types."""
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                records[parameter.param_type_name].append(record)
        if arguments := records["argument"]:
            with formatter.section("Arguments"):
                formatter.write_dl([(name.partition(" <")[0], text) for name, text in arguments])
        with formatter.section("Options"):
            formatter.write_dl(records["option"])


class CommandGroup(TyperGroup):
    """Commands by name. One that is unknown is answered with the one that may be meant."""

    alone: str | None = None
    """The command that a group without one stands for."""

    def get_params(self, ctx: Any) -> list[Any]:
        *own, last = super().get_params(ctx)
        return [*own, *_inherited(ctx), last] if ctx.parent else [*own, last]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; where no command is named, the usual one is meant."""
        begins_with_option = all(word.startswith("-") for word in args[:1])
        asks_help = any(word in ctx.help_option_names for word in args)
        if self.alone and begins_with_option and not asks_help and not ctx.resilient_parsing:
            args = [self.alone, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise self._unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: Any, name: str) -> UsageError:
        path = ctx.command_path
        is_meant = ctx.parent is None and name.lower() in _GUESSES
        near = [] if is_meant else get_close_matches(name.lower(), self.list_commands(ctx))
        other = [] if ctx.parent or near else get_close_matches(name.lower(), _GUESSES, n=1)
        meant = next(iter([*near, *map(_GUESSES.__getitem__, other)]), None)
        answer = f"; did you mean `{path} {meant}`?" if meant else ""
        return UsageError(
            f"{path}: no command {name!r}{answer}", hint=f"`{path} --help` lists the commands"
        )


class ListingGroup(CommandGroup):
    """A group that lists what there is if no command is named."""

    alone = "list"


class Program(typer.Typer):
    """A typer application whose commands are `ProgramCommand`s, and whose help is plain text."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_completion=False, rich_markup_mode=None, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Command], _Command]:
        """Register a command, which typer calls with the values of its fields."""
        return super().command(name, **{"cls": ProgramCommand, **settings})


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
    parameters = error.ctx.command.params if error.ctx else ()
    own = {name.lstrip("-") for parameter in parameters for name in parameter.opts}
    meant = [word for word in _OPTIONS.get(option.lstrip("-"), ()) if word.split()[0] in own]
    near = [*meant[:1], *closest(option.lstrip("-"), names)][:1]
    guess = "".join(f"; did you mean --{word}?" for word in near)
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


def _blank_in_list(words: Sequence[str], path: str) -> UsageError | None:
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


def _extra_words(extra: Sequence[str], words: Sequence[str], path: str) -> UsageError:
    """The refusal of words that no argument takes; values of a list may be among them."""
    if (parted := _blank_in_list(words, path)) is not None:
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
