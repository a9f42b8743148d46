"""Commands and groups of commands: how they read words, and what they share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import unwrap
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from analysis.results.synonyms import axis_of
from orchestrator.commands.program.command import fields_in_help
from orchestrator.commands.program.refusals import blank_in_list, extra_words
from runner.contract.errors import UsageError

_GUESSES: Mapping[str, str] = {
    "analyze": "query",
    "benchmark": "bench",
    "build": "images build",
    "catalogue": "models list",
    "backup": "database snapshot",
    "check": "database check",
    "clean": "database drop",
    "compact": "database compact",
    "diff": "compare",
    "completion": "--install-completion",
    "continue": "run --resume last",
    "delete": "database drop",
    "drop": "database drop",
    "dry-run": "plan",
    "h": "--help",
    "help": "--help",
    "history": "query",
    "image": "images",
    "info": "doctor",
    "install": "doctor",
    "list": "models list",
    "ls": "models list",
    "measure": "bench",
    "model": "models",
    "prune": "images prune",
    "pull": "images pull",
    "push": "images push",
    "rebuild": "database rebuild",
    "restore": "database restore",
    "results": "status",
    "resume": "run --resume last",
    "select": "query",
    "setup": "doctor",
    "show": "models show",
    "snapshot": "database snapshot",
    "sql": "query",
    "start": "run",
    "test": "verify",
    "upgrade": "database rebuild",
    "vacuum": "database vacuum",
    "validate": "database check",
    "version": "--version",
}
"""The command that is meant by a word that other tools have for it."""
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
        """Read the words."""
        words = list(args)
        try:
            extra = super().parse_args(ctx, args)
        except UsageError as error:
            raise blank_in_list(words, ctx.command_path) or error from None
        if extra and not ctx.resilient_parsing:
            raise extra_words(extra, words, ctx.command_path)
        return extra

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own parameters and those of the program, `--help` last."""
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
        """Its own parameters and those of the program, `--help` last."""
        *own, last = super().get_params(ctx)
        return [*own, *_inherited(ctx), last] if ctx.parent else [*own, last]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; where no command is named, the usual one is meant."""
        if self.alone and not ctx.resilient_parsing and self._names_no_command(ctx, args):
            args = [self.alone, *args]
        return super().parse_args(ctx, args)

    def _names_no_command(self, ctx: Any, args: list[str]) -> bool:
        return all(word.startswith("-") for word in args[:1]) and not any(
            word in ctx.help_option_names for word in args
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command named, its name and its words."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise self._unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: Any, name: str) -> UsageError:
        path = ctx.command_path
        near = get_close_matches(name.lower(), self.list_commands(ctx))
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
