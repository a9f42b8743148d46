"""Asks the real command line whether it would take some arguments, without doing anything."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from orchestrator.commands.app import COMMANDS, app
from orchestrator.commands.program.program import READING


@cache
def command_line() -> TyperGroup:
    """The application with all its commands."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    for name in COMMANDS:
        group.get_command(typer.Context(group), name)
    return group


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """The values of the command's parameters.

    A group, or a command named alone, is only looked up: that is how pages mention one.

    Raises:
        KeyError: there is no such command or global option.
        TyperException: the command refuses the arguments.
    """
    command: Any = command_line()
    flags = {flag: None for each in command.params for flag in each.opts} | {"--help": None}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flags[rest.pop(0)]
    while rest and isinstance(command, TyperGroup):
        alone = getattr(command, "alone", None)
        is_option = alone is not None and rest[0].startswith("-")
        command = command.commands[alone if is_option else rest.pop(0)]
    if not rest:
        return {}
    program = typer.Context(command_line(), info_name="orchestrator", **READING)
    return dict(command.make_context(command.name, rest, parent=program).params)
