"""Options of commands whose answer is a sheet: its format, its file and its chart."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.screen.sheet_output import SheetOutput


class SheetFormat(StrEnum):
    """Formats of sheets."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    json = "json"
    html = "html"


_OPTIONS: dict[str, tuple[Any, object]] = {
    "format_": (
        Annotated[
            SheetFormat | None,
            typer.Option(
                "--format",
                metavar=options.one_of(SheetFormat),
                help="[default: what FILE's name says, else table]",
            ),
        ],
        None,
    ),
    "output": (options.Output, None),
    "chart": (options.ChartFile, None),
    "force": (options.Force, False),
    "wide": (options.Wide, False),
    "json": (options.Json, False),
}


def with_sheet(command: Command) -> Command:
    """Give a command options of its output, which it takes as its parameter `output`.

    It gets a `SheetOutput`.
    """
    return with_option_group(command, "output", _OPTIONS, _output)


def _output(chosen: dict[str, Any]) -> "SheetOutput":
    from orchestrator.screen.sheet_output import SheetOutput

    form = options.answer_format(chosen["format_"], as_json=chosen["json"])
    return SheetOutput(
        form, chosen["output"], chosen["chart"], force=chosen["force"], wide=chosen["wide"]
    )
