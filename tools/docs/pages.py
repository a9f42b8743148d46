"""Files that are made from the code: `python -m orchestrator.generated [--check]`."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from orchestrator.cli import commands
from orchestrator.cli.app import app
from orchestrator.matrix import matrix_json_schema
from orchestrator.store import schema_markdown
from orchestrator.system.git import ROOT
from tools.docs.readme import readme


def _matrix_schema() -> str:
    return json.dumps(matrix_json_schema(), indent=2) + "\n"


def _commands_page() -> str:
    return commands_markdown()


FILES: Mapping[str, Callable[[], str]] = {
    "README.md": readme,
    "docs/commands.md": _commands_page,
    "docs/matrix.schema.json": _matrix_schema,
    "docs/schema.md": schema_markdown,
}


def stale(root: Path = ROOT) -> list[str]:
    """The files that differ from what the code says."""
    return [name for name, make in FILES.items() if _read(root / name) != make()]


def write(root: Path = ROOT) -> None:
    """Make all files anew."""
    for name, make in FILES.items():
        (root / name).write_text(make(), encoding="utf-8")


def main() -> int:
    """Write the files, or check them with `--check`."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    names = stale()
    for name in names:
        sys.stderr.write(f"{name} is stale: run `make schemas` and commit it\n")
    return 1 if names else 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())


WIDTH = 90
"""Columns of the page, whatever the terminal at hand has."""

_HEAD = """\
# The commands

<!-- Generated from the code; a change here is lost. -->

What `--help` says of each command. The [README](../README.md#the-commands) shows examples.
"""


def commands_markdown() -> str:
    """The documentation of all commands, for docs/commands.md."""
    commands.register(app)
    pages = (f"## {path}\n\n```text\n{text}\n```\n" for path, text in help_texts())
    return "\n".join([_HEAD, *pages])


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
        for child, member in command.commands.items():
            yield from _texts(member, child, context)
