"""Options of commands whose answer is a sheet: its format, its file and its chart."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.render.terminal.sheet_output import SheetOutput

_Command = TypeVar("_Command", bound=Callable[..., Any])
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


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
    "chart": (
        Annotated[
            Path | None,
            typer.Option("--chart", metavar="FILE", help="Draw it: a .png, .svg or .html."),
        ],
        None,
    ),
    "force": (options.Force, False),
    "wide": (options.Wide, False),
    "json": (options.Json, False),
}


def with_sheet(command: _Command) -> _Command:
    """Give a command options of its output, which it takes as its parameter `output`.

    It gets a `SheetOutput`.
    """

    @wraps(command)
    def with_output(*arguments: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in _OPTIONS}
        return command(*arguments, output=_output(chosen), **given)

    own = inspect.signature(command).parameters.values()
    kept = [one.replace(kind=_KEYWORD) for one in own if one.name != "output"]
    added = [
        inspect.Parameter(name, _KEYWORD, default=default, annotation=hint)
        for name, (hint, default) in _OPTIONS.items()
    ]
    with_output.__annotations__ = {one.name: one.annotation for one in (*kept, *added)}
    vars(with_output)["__signature__"] = inspect.Signature([*kept, *added])
    return with_output  # type: ignore[return-value]


def _output(chosen: dict[str, Any]) -> "SheetOutput":
    from orchestrator.render.terminal.sheet_output import SheetOutput

    form = options.answer_format(chosen["format_"], as_json=chosen["json"])
    return SheetOutput(
        form, chosen["output"], chosen["chart"], force=chosen["force"], wide=chosen["wide"]
    )
