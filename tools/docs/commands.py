"""Help texts of all commands as Markdown."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from orchestrator.commands.app import app

WIDTH = 90
"""Columns of the page, whatever the terminal at hand has."""


def help_markdown() -> str:
    """The documentation of all commands, a heading each."""
    return "\n\n".join(f"## {path}\n\n```text\n{text}\n```" for path, text in help_texts())


def help_texts() -> Iterator[tuple[str, str]]:
    """Every command, such as `orchestrator models list`, with its help, groups first."""
    yield from _texts(get_command(app), "orchestrator", None)


def _texts(
    command: Any,  # typer keeps the class of a command private
    name: str,
    parent: typer.Context | None,
) -> Iterator[tuple[str, str]]:
    context = typer.Context(
        command, parent=parent, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH
    )
    lines = (line.rstrip() for line in command.get_help(context).splitlines())
    yield context.command_path, "\n".join(lines)
    if isinstance(command, TyperGroup):
        for child in command.list_commands(context):
            yield from _texts(command.get_command(context, child), child, context)
